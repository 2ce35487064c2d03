#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

MeasuredCollective measured_broadcast() {
  return {.multiple = {}, .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            constexpr int root = 0;
            const int rank = bench.world.rank;
            return {.call = moe::collective::Broadcast{{.count = count}, root},
                    .count = count,
                    .sent = count,
                    .before = [=](auto i) { return rank == root ? pattern(root, i) : -1; },
                    .after = [](auto i) { return pattern(root, i); },
                    .root = root};
          }};
}

}  // namespace microbench
