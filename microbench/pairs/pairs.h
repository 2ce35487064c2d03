#pragma once

#include <string>
#include <vector>

#include "microbench/benchmarks.h"

namespace microbench {

/// Who sends to whom.
struct PairPlayers {
  std::vector<int> ranks;          ///< of the world, ascending
  std::vector<std::string> names;  ///< of these: "n2", "rank 3"
  bool nodes = false;              ///< one rank of each node: its first
};

/// The players of "nodes", "ranks", or of "": nodes where there are several, else ranks. Throws
/// moe::InputError where there are fewer than two.
PairPlayers pair_players(const std::vector<moe::RankInfo>& ranks, const std::string& over);

/// Sends messages of these sizes, and of 8 bytes, from every player to every other, in the rounds of
/// a tournament. All pairs of a round send at the same time, first one way and then the other; a
/// round takes about the budget of the sampling, and no rank waits for a whole one (meetings.h). A
/// sample is a round trip: the message there, 8 bytes back. Its time one way is that less half a
/// round trip of 8 bytes. Reports a row for each pair and size on every rank ("ping_pong", with
/// from, from_host, to, to_host), prints a matrix for each size, and says which player or pair is
/// slow (slow_pairs.h).
void measure_pairs(const Bench& bench, const PairPlayers& players,
                   const std::vector<std::int64_t>& sizes, const Reports& reports);

/// "pairs", with --over as its option.
Benchmark pair_benchmark();

}  // namespace microbench
