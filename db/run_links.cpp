#include "db/run_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "db/columns.h"
#include "db/console/statistics.h"
#include "db/insert_sql.h"
#include "db/load.h"
#include "db/statement.h"
#include "db/transaction.h"

namespace db {

void insert(Connection& connection, std::span<const RunLink> links) {
  if (links.empty()) return;
  Transaction transaction(connection, fmt::format("store {} links", links.size()));
  Statement statement(connection, insert_sql<RunLink>());
  for (const RunLink& link : links) statement.bind_record(link).run();
  transaction.commit();
}

std::vector<RunLink> load_run_links(const Connection& connection, std::int64_t run_id) {
  return select<RunLink>(connection, "WHERE run_id = ? ORDER BY to_rank, from_rank", run_id);
}

PairSpeeds host_speeds(std::span<const RunLink> links, std::span<const RunRank> ranks) {
  PairSpeeds speeds;
  speeds.slow = kSlowInTraining;
  std::map<int, std::size_t> host_of;  // by rank
  for (const RunRank& rank : ranks) {
    const auto found = std::ranges::find(speeds.names, rank.hostname);
    host_of[rank.rank] = static_cast<std::size_t>(found - speeds.names.begin());
    if (found == speeds.names.end()) speeds.names.push_back(rank.hostname);
  }
  const std::size_t hosts = speeds.names.size();
  std::vector<std::vector<double>> bytes(hosts, std::vector<double>(hosts)), seconds = bytes;
  std::vector<double> errors;
  for (const RunLink& link : links) {
    const auto from = host_of.find(link.from_rank), to = host_of.find(link.to_rank);
    if (from == host_of.end() || to == host_of.end() || link.bandwidth_bytes_per_s <= 0) continue;
    const auto sent = static_cast<double>(link.bytes);
    bytes[from->second][to->second] += sent;
    seconds[from->second][to->second] += sent / link.bandwidth_bytes_per_s;
    if (from->second != to->second) errors.push_back(link.relative_error);
  }
  speeds.speed.assign(hosts, std::vector<double>(hosts));
  for (std::size_t from = 0; from < hosts; ++from) {
    for (std::size_t to = 0; to < hosts; ++to) {
      if (seconds[from][to] > 0) speeds.speed[from][to] = bytes[from][to] / seconds[from][to];
    }
  }
  if (!errors.empty()) speeds.relative_error = median(errors);
  return speeds;
}

std::vector<std::string> slow_hosts(std::span<const RunLink> links,
                                    std::span<const RunRank> ranks) {
  const bool few = std::ranges::any_of(
      links, [](const RunLink& link) { return link.transfers < kLeastTransfers; });
  const PairSpeeds speeds = host_speeds(links, ranks);
  if (links.empty() || few || speeds.names.size() < 3) return {};
  return judge_pairs(speeds).slow_players;
}

}  // namespace db
