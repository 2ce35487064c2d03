#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

MeasuredCollective measured_all_reduce() {
  return {.multiple = {}, .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            const int rank = bench.world.rank, ranks = bench.world.size;
            const moe::DType dtype = bench.dtype;
            return {.call = moe::collective::AllReduce{{.count = count}},
                    .count = count,
                    .sent = count,
                    .before = [=](auto i) { return addend(dtype, ranks, rank, i); },
                    .after = [=](auto i) { return sum_of_addends(dtype, ranks, i); },
                    .sums = true};
          }};
}

}  // namespace microbench
