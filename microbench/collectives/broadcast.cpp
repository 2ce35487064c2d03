#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

Case broadcast_case(const Bench& bench, std::int64_t bytes) {
  constexpr int root = 0;
  const int rank = bench.world.rank;
  const std::int64_t count = whole_elements(bench, bytes, 1);
  const CollectiveCase c(bench, moe::Collective::broadcast, {count});
  const auto run = [=, &bench] {
    bench.measured.broadcast(c.buffers[0], count, c.dtype, root, c.call);
  };
  const auto prepare = [=, &bench] {
    fill(bench.backend, c.call.stream, c.buffers[0], count, c.dtype,
         [=](auto i) { return rank == root ? pattern(root, i) : -1; });
  };
  const auto verify = [=, &bench] {
    prepare();
    run();
    return count_wrong(bench.backend, c.call.stream, c.buffers[0], count, c.dtype,
                       [](auto i) { return pattern(root, i); });
  };
  Result row = collective_row(bench, moe::Collective::broadcast, count, count);
  row.root = root;
  return {row, prepare, c.timed(run), verify};
}

}  // namespace microbench
