#pragma once

#include <functional>
#include <span>
#include <vector>

/// Lancet's computations as pure functions [Lancet; printed unless said otherwise]. Times are in
/// seconds.
namespace tuner {

/// The computation of a part up to an exchange, and the exchange (0 where none follows).
struct PipelineStage {
  double compute_s = 0;
  double exchange_s = 0;
};
/// The time of `parts` equal parts that go through the stages, stage by stage and part after part
/// in each. A step starts when its dependencies and the step of its kind (computation,
/// communication) before it have ended. [Lancet 5.3]
double pipelined_s(std::span<const PipelineStage> stages, int parts);

/// A range of instructions [first, end) in `parts` parts.
struct InstructionRange {
  int first = 0, end = 0;
  int parts = 1;
  friend bool operator==(const InstructionRange&, const InstructionRange&) = default;
};
/// The ranges that divide [0, count) with the least T(count):
///   T(n) = min_i { T(i) + min_k P(i, n, k) }                     [Lancet 5.1]
/// `price(i, n, k)` is P. It is infinite where the range is illegal. It is called with k = 1 and
/// with every one of `parts`. Equal times: fewer parts, longer ranges.
std::vector<InstructionRange> best_ranges(
    int count, std::span<const int> parts,
    const std::function<double(int first, int end, int parts)>& price);

}  // namespace tuner
