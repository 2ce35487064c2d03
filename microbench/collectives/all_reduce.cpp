#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

Case all_reduce_case(const Bench& bench, std::int64_t bytes) {
  const int n = bench.world.size, rank = bench.world.rank;
  const std::int64_t count = whole_elements(bench, bytes, 1);
  const CollectiveCase c(bench, moe::Collective::all_reduce, {count});
  const auto run = [=, &bench] { bench.measured.all_reduce(c.buffers[0], count, c.dtype, c.call); };
  const auto prepare = [=, &bench] {
    fill(bench.backend, c.call.stream, c.buffers[0], count, c.dtype, [](auto) { return 0; });
  };
  const auto verify = [=, &bench] {
    fill(bench.backend, c.call.stream, c.buffers[0], count, c.dtype,
         [=](auto i) { return pattern(rank, i); });
    run();
    return count_wrong(bench.backend, c.call.stream, c.buffers[0], count, c.dtype,
                       [=](auto i) { return pattern_sum(n, i); });
  };
  Result row = collective_row(bench, moe::Collective::all_reduce, count, count);
  row.redop = "sum";
  return {row, prepare, c.timed(run), verify};
}

}  // namespace microbench
