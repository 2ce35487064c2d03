#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace moe {

/// The collectives that are measured by themselves.
enum class Collective : std::uint8_t {
  all_to_all,
  all_to_all_v,
  all_gather,
  reduce_scatter,
  all_reduce,
  broadcast
};

/// As in the result database: "all_to_all".
std::string_view name_of(Collective collective);
/// None where no collective is called that.
std::optional<Collective> collective_named(std::string_view name);

/// What algorithm bandwidth S/t is multiplied with to give the bandwidth that the busiest link must
/// have carried, whatever the algorithm, and S to give the bytes on it (nccl-tests,
/// PERFORMANCE.md):
///   all-reduce 2 (n-1)/n;  all-gather, reduce-scatter, all-to-all(-v) (n-1)/n;  broadcast 1.
/// S = bytes of the whole array: what a rank holds after all-gather, before reduce-scatter, sends
/// in all-to-all; the busiest rank's sent or received bytes for all-to-all-v.
double bus_factor(Collective collective, int ranks);

}  // namespace moe
