#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "db/slow_pairs.h"

/// What a training saw of the links between its computers, and which of these are slow.
namespace db {

/// What a rank received from one of another computer in exchanges of a training for which it waited,
/// those of the warm-up aside. A transfer takes from when the sender has begun the exchange until its
/// last byte is there.
struct RunLink {
  std::int64_t run_id = 0;
  int from_rank = 0;
  int to_rank = 0;
  std::int64_t transfers = 0;
  std::int64_t bytes = 0;            ///< of all transfers
  double busy_s = 0;                 ///< that they took together
  double bandwidth_bytes_per_s = 0;  ///< median of the transfers
  double relative_error = 0;         ///< of that median
};

/// Throws Error as store.h says.
void insert(Connection&, std::span<const RunLink>);
/// Ordered by to_rank and from_rank. Throws Error.
std::vector<RunLink> load_run_links(const Connection&, std::int64_t run_id);

/// The rates between computers in bytes per second, by the names of these: bytes that travelled over
/// the seconds that they take at the rates of their ranks. 0 where nothing did. `ranks` are all of the
/// run.
PairSpeeds host_speeds(std::span<const RunLink> links, std::span<const RunRank> ranks);

/// Hosts are named where they have less than this of the usual rate: ranks of a training compute
/// beside their exchanges, and so these tell less than moe-bench pairs does.
inline constexpr double kSlowInTraining = 0.7;
/// Fewer transfers than these on a link blame nobody.
inline constexpr int kLeastTransfers = 20;

/// The hosts, of at least 3, to or from which bytes travelled slowly, in JudgedPairs::slow_players;
/// single pairs are not judged. A rank sends first to the next one, last to the one before it, and what
/// is sent first arrives first. So the rates of hosts are judged over those of other hosts that are as
/// far apart. Nobody is slow where a link has fewer than kLeastTransfers,
/// or where others used more than a fifth of the processors (RunRank::share_of_others).
JudgedPairs judge_hosts(std::span<const RunLink> links, std::span<const RunRank> ranks);

}  // namespace db
