#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

Case reduce_scatter_case(const Bench& bench, std::int64_t bytes) {
  const int n = bench.world.size, rank = bench.world.rank;
  const std::int64_t count = whole_elements(bench, bytes, n), share = count / n;
  const CollectiveCase c(bench, moe::Collective::reduce_scatter, {count, share});
  const auto run = [=, &bench] {
    bench.measured.reduce_scatter(c.buffers[0], c.buffers[1], share, c.dtype, c.call);
  };
  const auto prepare = [=, &bench] {
    fill(bench.backend, c.call.stream, c.buffers[0], count, c.dtype,
         [=](auto i) { return pattern(rank, i); });
    fill(bench.backend, c.call.stream, c.buffers[1], share, c.dtype, [](auto) { return -1; });
  };
  const auto verify = [=, &bench] {
    prepare();
    run();
    return count_wrong(bench.backend, c.call.stream, c.buffers[1], share, c.dtype,
                       [=](auto i) { return pattern_sum(n, rank * share + i); });
  };
  Result row = collective_row(bench, moe::Collective::reduce_scatter, count, share);
  row.redop = "sum";
  return {row, prepare, c.timed(run), verify};
}

}  // namespace microbench
