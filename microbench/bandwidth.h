#pragma once

namespace microbench {

enum class CollectiveKind {
  all_to_all,
  all_to_all_v,
  all_gather,
  reduce_scatter,
  all_reduce,
  broadcast
};

/// What algorithm bandwidth S/t is multiplied with to give the bandwidth that the busiest link must
/// have carried, whatever the algorithm (nccl-tests, PERFORMANCE.md):
///   all-reduce 2 (n-1)/n;  all-gather, reduce-scatter, all-to-all(-v) (n-1)/n;  broadcast 1.
/// S = bytes of the whole array: what a rank holds after all-gather, before reduce-scatter, sends
/// in all-to-all; the busiest rank's sent or received bytes for all-to-all-v.
double bus_factor(CollectiveKind kind, int ranks);

}  // namespace microbench
