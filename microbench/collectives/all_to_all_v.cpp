#include <fmt/format.h>

#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

Case all_to_all_v_case(const Bench& bench, std::int64_t bytes) {
  const int n = bench.world.size, rank = bench.world.rank;
  // From everybody: two blocks to rank 0 and one to each other.
  const std::int64_t block = whole_elements(bench, bytes, 2 * n) / (2 * n);
  const auto blocks_to = [](int peer) { return peer == 0 ? 2 : 1; };
  const auto begin_of = [](int peer) { return peer == 0 ? 0 : peer + 1; };
  const std::int64_t sent = (n + 1) * block;
  const std::int64_t received = n * blocks_to(rank) * block;
  const CollectiveCase c(bench, moe::Collective::all_to_all_v, {sent, received});
  std::vector<moe::Segment> send, receive;
  for (int peer = 0; peer < n; ++peer) {
    send.push_back({peer, begin_of(peer), blocks_to(peer)});
    receive.push_back({peer, peer * blocks_to(rank), blocks_to(rank)});
  }
  const auto run = [=, &bench] {
    bench.measured.all_to_all_v(c.buffers[0], send, c.buffers[1], receive,
                                block * moe::bytes_of(c.dtype), c.call);
  };
  const auto prepare = [=, &bench] {
    fill(bench.backend, c.call.stream, c.buffers[0], sent, c.dtype,
         [=](auto i) { return pattern(rank, i); });
    fill(bench.backend, c.call.stream, c.buffers[1], received, c.dtype, [](auto) { return -1; });
  };
  const auto verify = [=, &bench] {
    prepare();
    run();
    const std::int64_t share = blocks_to(rank) * block;
    return count_wrong(bench.backend, c.call.stream, c.buffers[1], received, c.dtype, [=](auto i) {
      return pattern(static_cast<int>(i / share), begin_of(rank) * block + i % share);
    });
  };
  Result row = collective_row(bench, moe::Collective::all_to_all_v, 2 * n * block, sent);
  row.measurement.parameters_json =
      fmt::format("{{\"imbalance\":{:.4g},\"matrix\":\"hot rank 0\"}}", 2.0 * n / (n + 1));
  return {row, prepare, c.timed(run), verify};
}

}  // namespace microbench
