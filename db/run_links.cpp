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
namespace {

/// Where others use a larger share of the processors, ranks look late for what has come.
constexpr double kMostOfOthers = 0.2;

/// The speeds over those of hosts that are as far apart in the order of ranks, where there are enough
/// of these to say what is usual: three quarters of them, since a slow host has up to two.
PairSpeeds over_as_far_apart(PairSpeeds speeds) {
  const std::size_t hosts = speeds.names.size();
  for (std::size_t apart = 1; apart < hosts; ++apart) {
    std::vector<double> usual;
    for (std::size_t from = 0; from < hosts; ++from) {
      const double speed = speeds.speed[from][(from + apart) % hosts];
      if (speed > 0) usual.push_back(speed);
    }
    std::ranges::sort(usual);
    const double over = usual.size() < 3 ? 0 : usual[usual.size() * 3 / 4];
    for (std::size_t from = 0; from < hosts; ++from) {
      double& speed = speeds.speed[from][(from + apart) % hosts];
      speed = over > 0 ? speed / over : 0;
    }
  }
  return speeds;
}

}  // namespace

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

JudgedPairs judge_hosts(std::span<const RunLink> links, std::span<const RunRank> ranks) {
  const PairSpeeds speeds = over_as_far_apart(host_speeds(links, ranks));
  JudgedPairs judged;
  if (speeds.names.size() < 3) return judged;
  judged = judge_pairs(speeds);
  judged.slow_pairs.clear();
  const bool few = std::ranges::any_of(
      links, [](const RunLink& link) { return link.transfers < kLeastTransfers; });
  const bool shared = std::ranges::any_of(
      ranks, [](const RunRank& rank) { return rank.share_of_others.value_or(0) > kMostOfOthers; });
  if (few || shared) judged.slow_players.clear();
  return judged;
}

}  // namespace db
