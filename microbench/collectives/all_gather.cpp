#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

MeasuredCollective measured_all_gather() {
  return {.multiple = [](int ranks) { return ranks; },
          .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            const int rank = bench.world.rank;
            const std::int64_t share = count / bench.world.size;
            return {
                .call = moe::collective::AllGather{{.count = share}},
                .count = share,
                .sent = share,
                .received = count,
                .before = [=](auto i) { return pattern(rank, i); },
                .after = [=](auto i) { return pattern(static_cast<int>(i / share), i % share); }};
          }};
}

}  // namespace microbench
