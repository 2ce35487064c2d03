#include <fmt/format.h>

#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"

namespace microbench {

/// Every rank sends two blocks to rank 0 and one to each other, as if rank 0 held the popular
/// experts: imbalance (busiest over mean) 2n/(n+1). S is what rank 0 receives, itself included.
MeasuredCollective measured_all_to_all_v() {
  return {.multiple = [](int ranks) { return 2 * ranks; },
          .part = [](const Bench& bench, std::int64_t count) -> CollectivePart {
            const int rank = bench.world.rank, ranks = bench.world.size;
            const std::int64_t block = count / (2 * ranks);
            const auto blocks_to = [](int peer) { return peer == 0 ? 2 : 1; };
            const auto begin_of = [](int peer) { return peer == 0 ? 0 : peer + 1; };
            const int own = blocks_to(rank);
            CollectivePart part{
                .call = moe::collective::AllToAllV{.row_bytes = block * moe::bytes_of(bench.dtype)},
                .count = (ranks + 1) * block,
                .sent = (ranks + 1) * block,
                .received = ranks * own * block,
                .before = [=](auto i) { return pattern(rank, i); },
                .after =
                    [=](auto i) {
                      const std::int64_t share = own * block;
                      return pattern(static_cast<int>(i / share),
                                     begin_of(rank) * block + i % share);
                    },
                .parameters_json = fmt::format("{{\"imbalance\":{:.4g},\"matrix\":\"hot rank 0\"}}",
                                               2.0 * ranks / (ranks + 1))};
            for (int peer = 0; peer < ranks; ++peer) {
              part.send.push_back({peer, begin_of(peer), blocks_to(peer)});
              part.receive.push_back({peer, peer * own, own});
            }
            return part;
          }};
}

}  // namespace microbench
