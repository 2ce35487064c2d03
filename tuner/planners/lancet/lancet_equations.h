#pragma once

#include <functional>
#include <span>
#include <vector>

/// What Lancet computes, as pure functions [Lancet; printed unless said otherwise]. Times in
/// seconds.
namespace tuner {

/// What is done of a part up to an exchange, and the exchange (0 where none follows).
struct PipelineStage {
  double compute_s = 0;
  double exchange_s = 0;
};
/// Time of `parts` equal parts that go through the stages, stage by stage and part after part in
/// each: a start is the latest of what it depends on and of the end of the op of its kind
/// (computation, communication) before it. [Lancet 5.3]
double pipelined_s(std::span<const PipelineStage> stages, int parts);

/// A range of instructions [first, end) in `parts`.
struct InstructionRange {
  int first = 0, end = 0;
  int parts = 1;
  friend bool operator==(const InstructionRange&, const InstructionRange&) = default;
};
/// The ranges that [0, count) falls into with the least T(count):
///   T(n) = min_i { T(i) + min_k P(i, n, k) }                     [Lancet 5.1]
/// `price(i, n, k)` is P, infinite where illegal, asked for k = 1 and for every one of `parts`.
/// Ties: fewer parts, longer ranges.
std::vector<InstructionRange> best_ranges(
    int count, std::span<const int> parts,
    const std::function<double(int first, int end, int parts)>& price);

}  // namespace tuner
