#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

MeasuredCollective measured_all_to_all() {
  return {.multiple = [](int ranks) { return ranks; },
          .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            const int rank = bench.world.rank, ranks = bench.world.size;
            const std::int64_t share = count / ranks;
            CollectivePart part{
                .call = moe::collective::AllToAllV{.row_bytes = share * moe::bytes_of(bench.dtype)},
                .count = share,
                .sent = count,
                .received = count,
                .before = [=](auto i) { return pattern(rank, i); },
                .after =
                    [=](auto i) {
                      return pattern(static_cast<int>(i / share), rank * share + i % share);
                    }};
            for (int peer = 0; peer < ranks; ++peer) part.send.push_back({peer, peer, 1});
            part.receive = part.send;
            return part;
          }};
}

}  // namespace microbench
