#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

MeasuredCollective measured_reduce() {
  return {.multiple = {}, .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            constexpr int root = 0;
            const int rank = bench.world.rank, ranks = bench.world.size;
            const moe::DType dtype = bench.dtype;
            return {.call = moe::collective::Reduce{{.count = count}, root},
                    .count = count,
                    .sent = count,
                    .received = count,
                    .before = [=](auto i) { return addend(dtype, ranks, rank, i); },
                    // The other ranks' buffers stay as they were filled.
                    .after =
                        [=](auto i) { return rank == root ? sum_of_addends(dtype, ranks, i) : -1; },
                    .sums = true,
                    .root = root};
          }};
}

}  // namespace microbench
