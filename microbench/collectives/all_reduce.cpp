#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

MeasuredCollective measured_all_reduce() {
  return {.multiple = {}, .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            const int rank = bench.world.rank, ranks = bench.world.size;
            return {.call = moe::collective::AllReduce{{.count = count}},
                    .count = count,
                    .sent = count,
                    .before = [=](auto i) { return pattern(rank, i); },
                    .after = [=](auto i) { return pattern_sum(ranks, i); },
                    .sums = true};
          }};
}

}  // namespace microbench
