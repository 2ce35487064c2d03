#pragma once

#include <ostream>
#include <vector>

#include "tests/moe/kernels/run_case.h"

/// The table of ops and shapes that drives every kernel test and the timings: gradients in double,
/// float against double, device against processor.
namespace moe::test {

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

/// One case per op and shape; gradients are fed by their forward op in double.
std::vector<GradientCase> gradient_cases();
std::vector<KernelCase> kernel_cases();
/// The cases of gate_kernel_cases.cpp and order_kernel_cases.cpp, which are among all cases.
std::vector<GradientCase> head_gradient_cases();
std::vector<GradientCase> gate_gradient_cases();
std::vector<GradientCase> order_gradient_cases();
std::vector<KernelCase> gate_cases();
std::vector<KernelCase> group_and_wire_cases();
/// Shapes that take other ways through a device than small ones, too large for central differences.
std::vector<KernelCase> large_kernel_cases();
/// Shapes at the borders of what a thread of a device loads at a time, and of what a block sums up.
std::vector<KernelCase> wide_kernel_cases();

/// qkv[T,(heads + 2 key_value_heads) W] -> the case of its attention, with a scratch for any back
/// end and type.
KernelCase attention_case(const Attention& attention, HostTensor qkv);
/// The gradient of an attention_case, for dy and the results of the case.
KernelCase attention_gradient_case(const KernelCase& forward, HostTensor dy,
                                   const std::vector<HostTensor>& results);

/// i32[1,1], as Program::step.
HostTensor step_number(int step);
KernelCase softmax_case(HostTensor logits);
/// ranking[T,E], scores[T,E] -> the case that selects by them.
KernelCase select_case(const SelectExperts& select, HostTensor ranking, HostTensor scores);

/// scores[T,E] -> the case in which experts choose by them.
KernelCase choose_case(const ChooseTokens& choose, HostTensor scores);

/// The results of the softmax gate for logits[T,E], in double.
struct Gated {
  HostTensor probabilities, expert, weight, slot, offsets, demand;
};
Gated softmax_gated(const SelectExperts& select, const HostTensor& logits);

}  // namespace moe::test
