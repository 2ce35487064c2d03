#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

Case all_to_all_case(const Bench& bench, std::int64_t bytes) {
  const int n = bench.world.size, rank = bench.world.rank;
  const std::int64_t count = whole_elements(bench, bytes, n), share = count / n;
  const CollectiveCase c(bench, moe::Collective::all_to_all, {count, count});
  std::vector<moe::Segment> segments;  // one row per rank, both ways
  for (int peer = 0; peer < n; ++peer) segments.push_back({peer, peer, 1});
  const auto run = [=, &bench] {
    bench.measured.all_to_all_v(c.buffers[0], segments, c.buffers[1], segments,
                                share * moe::bytes_of(c.dtype), c.call);
  };
  const auto prepare = [=, &bench] {
    fill(bench.backend, c.call.stream, c.buffers[0], count, c.dtype,
         [=](auto i) { return pattern(rank, i); });
    fill(bench.backend, c.call.stream, c.buffers[1], count, c.dtype, [](auto) { return -1; });
  };
  const auto verify = [=, &bench] {
    prepare();
    run();
    return count_wrong(bench.backend, c.call.stream, c.buffers[1], count, c.dtype, [=](auto i) {
      return pattern(static_cast<int>(i / share), rank * share + i % share);
    });
  };
  return {collective_row(bench, moe::Collective::all_to_all, count, share),
          prepare,
          c.timed(run),
          verify,
          run,
          c.call.stream};
}

}  // namespace microbench
