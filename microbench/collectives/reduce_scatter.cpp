#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

MeasuredCollective measured_reduce_scatter() {
  return {.multiple = [](int ranks) { return ranks; },
          .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            const int rank = bench.world.rank, ranks = bench.world.size;
            const moe::DType dtype = bench.dtype;
            const std::int64_t share = count / ranks;
            return {.call = moe::collective::ReduceScatter{{.count = share}},
                    .count = share,
                    .sent = count,
                    .received = share,
                    .before = [=](auto i) { return addend(dtype, ranks, rank, i); },
                    .after = [=](auto i) { return sum_of_addends(dtype, ranks, rank * share + i); },
                    .sums = true};
          }};
}

}  // namespace microbench
