#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/program/op.h"

/// One op on tensors of the host, run on any backend.
namespace moe::test {

/// A tensor on the host, its elements as doubles whatever its type on a backend.
struct HostTensor {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::vector<double> values{};
  bool integer = false;
  bool remainder = false;  ///< of a parameter in bf16: the values are its masters
};

/// One execution of the op on the tensors of its case: chunks of a layer are several steps.
struct Step {
  Slice chunk{};
  Slice part{};  ///< of the batch: the op sees these rows of the operands that are cut along it
  bool accumulate = false;         ///< of ops that write sums
  std::vector<RowRange> ranges{};  ///< as BoundOp::ranges; one range of all rows where empty
};

struct KernelCase {
  std::string name;
  OpKind kind;
  std::vector<HostTensor> reads;
  std::vector<HostTensor> writes;  ///< what is there before
  std::vector<Step> steps{Step{}};
};

/// An update as it is in bf16, where a parameter has a remainder; other cases as they are.
KernelCase with_remainder(KernelCase kernel);

/// The writes of the case after its steps. Activations are stored in the type `real`, and other
/// operands in the types that the facts of the op say.
std::vector<HostTensor> run_case(Backend& backend, const KernelCase& kernel, DType real);

/// The same in double on a processor. The reads of backward ops are made from it.
std::vector<HostTensor> reference(const KernelCase& kernel);

/// Writes that have a meaning: the last one of Attention and of its gradient, a scratch, has none.
std::size_t results_of(const KernelCase& kernel);

HostTensor random_tensor(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                         double scale = 1);
HostTensor random_integers(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                           std::int64_t below);
/// Filled with a number that shows up where nothing was written.
HostTensor blank(std::int64_t rows, std::int64_t columns);
/// The same, as large as another.
HostTensor sized_like(const HostTensor& tensor);
HostTensor blank_integers(std::int64_t rows, std::int64_t columns);

/// The outputs of the case in bf16 that are further than rounding explains from what a processor
/// computes in double from the same numbers: by 2^-8 where outputs are stored, and by 1e-6
/// where they are wide.
std::vector<std::string> deviations_in_bf16(Backend& backend, const KernelCase& kernel);

/// |a - b| / |b| over all elements (norms), |a - b| where b is zero.
double relative_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace moe::test
