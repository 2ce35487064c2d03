#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/program/op.h"

/// The table of ops and shapes that drives every kernel test and the timings: gradients in double,
/// float against double, device against processor.
namespace moe::testing {

/// A tensor on the host, its elements as doubles whatever its type on a backend.
struct HostTensor {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::vector<double> values{};
  bool integer = false;
};

/// One execution of the op on the tensors of its case: chunks of a layer are several steps.
struct Step {
  Slice chunk{};
  bool accumulate = false;         ///< ExpertLinearWeightGradient
  std::vector<RowRange> ranges{};  ///< as BoundOp::ranges; one range of all rows where empty
};

struct KernelCase {
  std::string name;
  OpKind kind;
  std::vector<HostTensor> reads;
  std::vector<HostTensor> writes;  ///< what is there before
  std::vector<Step> steps{Step{}};
};

/// A backward op beside the forward op whose gradient it is: with L = sum of dy * outputs[output]
/// (L = outputs[output] where dy < 0), writes[i] of `gradient` is dL / d reads[wrt[i]] of
/// `forward`.
struct GradientCase {
  KernelCase forward;
  int output = 0;
  KernelCase gradient;
  int dy = 0;            ///< position among the reads of `gradient`
  std::vector<int> wrt;  ///< -1: not a gradient
};

/// For GoogleTest's messages.
inline void PrintTo(const GradientCase& pair, std::ostream* out) { *out << pair.gradient.name; }

/// What the writes of the case hold after its steps, with real numbers of type `real`.
std::vector<HostTensor> run_case(Backend& backend, const KernelCase& kernel, DType real);

/// Writes that have a meaning: the scratch of AttentionGradient, its last, has none.
std::size_t results_of(const KernelCase& kernel);

/// One case per op and shape; gradients are fed by their forward op in double.
std::vector<GradientCase> gradient_cases();
std::vector<KernelCase> kernel_cases();
/// Shapes that take other ways through a device than small ones, too large for central differences.
std::vector<KernelCase> large_kernel_cases();

HostTensor random_tensor(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                         double scale = 1);
HostTensor random_integers(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                           std::int64_t below);
/// Filled with a number that shows up where nothing was written.
HostTensor blank(std::int64_t rows, std::int64_t columns);
HostTensor blank_integers(std::int64_t rows, std::int64_t columns);

/// |a - b| / |b| over all elements (norms), |a - b| where b is zero.
double relative_difference(const std::vector<double>& a, const std::vector<double>& b);

KernelCase softmax_case(HostTensor logits);
/// ranking[T,E], scores[T,E] -> the case that selects by them.
KernelCase select_case(const SelectExperts& select, HostTensor ranking, HostTensor scores);

/// What the softmax gate makes of logits[T,E], in double.
struct Gated {
  HostTensor probabilities, expert, weight, slot, offsets, demand;
};
Gated softmax_gated(const SelectExperts& select, const HostTensor& logits);

}  // namespace moe::testing
