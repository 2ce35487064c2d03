#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/slow_pairs.h"

/// How fast bytes went between the computers or ranks of a run. No drawing here.
namespace viewer {

/// Of one size of messages, or of the exchanges of a training.
struct LinkMap {
  std::string title;               ///< "Messages of 4 MiB, GB/s"
  std::vector<std::string> names;  ///< of computers or ranks
  /// [from][to]: GB/s, or microseconds of messages so short that their latency matters; 0 where
  /// there is none.
  std::vector<std::vector<double>> value;
  bool latency = false;
  double median = 0;  ///< of the middles of rows and columns, in the unit of `value`
  db::JudgedPairs judged;
  int marked = -1;  ///< the slowest of `names`; -1 where none is slow
};

/// Of a run of moe-bench pairs the longest messages, then the shortest; of a training its exchanges.
/// Empty for other runs. Throws db::Error.
std::vector<LinkMap> load_link_maps(const db::Connection& connection, std::int64_t run_id);

/// "node2: 0.30 of the median, out and in", or that none is slow.
std::string finding_text(const LinkMap& map);

}  // namespace viewer
