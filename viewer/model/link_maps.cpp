#include "viewer/model/link_maps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "db/console/statistics.h"
#include "db/load.h"
#include "db/measurement_samples.h"
#include "db/run_links.h"
#include "viewer/model/format.h"

namespace viewer {

namespace {

// A message's two ends, of moe-bench pairs.
struct Ends {
  int from = 0, to = 0;
  std::string from_host, to_host;  // empty where they are not known
};

std::optional<Ends> ends_of(const db::Measurement& row) {
  const auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
  if (row.op != "ping_pong" || !(row.time_s > 0) || !parameters.is_object()) return std::nullopt;
  const auto rank = [&](const char* name) {
    const auto found = parameters.find(name);
    return found != parameters.end() && found->is_number_integer() ? found->get<int>() : -1;
  };
  const auto host = [&](const char* name) {
    const auto found = parameters.find(name);
    return found != parameters.end() && found->is_string() ? found->get<std::string>() : "";
  };
  Ends ends{rank("from"), rank("to"), host("from_host"), host("to_host")};
  if (ends.from < 0 || ends.to < 0) return std::nullopt;
  return ends;
}

// Hosts where each has one rank, else "host:rank" or, on one host, "rank 3".
std::vector<std::string> player_names(const std::map<int, std::string>& host_of) {
  std::set<std::string> hosts;
  for (const auto& [rank, host] : host_of) hosts.insert(host);
  std::vector<std::string> names;
  for (const auto& [rank, host] : host_of) {
    const bool alone = hosts.size() == host_of.size() && !host.empty();
    names.push_back(alone               ? host
                    : hosts.size() == 1 ? fmt::format("rank {}", rank)
                                        : fmt::format("{}:{}", host, rank));
  }
  return names;
}

LinkMap judged_map(std::string title, const db::PairSpeeds& speeds, db::JudgedPairs judged,
                   double unit_per_s) {
  LinkMap map;
  map.title = std::move(title);
  map.names = speeds.names;
  map.value = speeds.speed;
  map.latency = speeds.latency;
  map.judged = std::move(judged);
  const double median = db::judge_pairs(speeds).median;
  if (median > 0) map.median = speeds.latency ? unit_per_s / median : median * unit_per_s;
  for (std::vector<double>& row : map.value) {
    for (double& cell : row) {
      if (cell > 0) cell = speeds.latency ? unit_per_s / cell : cell * unit_per_s;
    }
  }
  if (map.judged.slow_players.empty()) return map;
  const auto slower = [&](std::size_t player) {
    const double out = map.judged.out[player], in = map.judged.in[player];
    return out > 0 && in > 0 ? std::min(out, in) : std::max(out, in);
  };
  std::size_t slowest = 0;
  for (std::size_t player = 1; player < map.names.size(); ++player) {
    if (slower(player) < slower(slowest)) slowest = player;
  }
  map.marked = static_cast<int>(slowest);
  return map;
}

std::vector<LinkMap> maps_of_pairs(const std::vector<db::SampledMeasurement>& rows) {
  std::map<int, std::string> host_of;
  std::map<std::int64_t, std::vector<std::pair<Ends, const db::SampledMeasurement*>>> by_bytes;
  for (const db::SampledMeasurement& row : rows) {
    const auto ends = ends_of(row.measurement);
    if (!ends) continue;
    host_of[ends->from] = ends->from_host;
    host_of[ends->to] = ends->to_host;
    by_bytes[row.measurement.bytes].emplace_back(*ends, &row);
  }
  std::vector<LinkMap> maps;
  if (host_of.size() < 2) return maps;
  std::map<int, std::size_t> place;  // by rank
  for (const auto& [rank, host] : host_of) place.emplace(rank, place.size());
  std::set<std::int64_t> shown{by_bytes.rbegin()->first, by_bytes.begin()->first};
  for (auto bytes = shown.rbegin(); bytes != shown.rend(); ++bytes) {
    db::PairSpeeds speeds;
    speeds.names = player_names(host_of);
    speeds.speed.assign(host_of.size(), std::vector<double>(host_of.size()));
    speeds.latency = *bytes < db::kLatencyBytes;
    std::vector<double> errors;
    for (const auto& [ends, row] : by_bytes[*bytes]) {
      speeds.speed[place.at(ends.from)][place.at(ends.to)] = 1 / row->measurement.time_s;
      const double error = db::relative_error_of_median(row->quantiles);
      errors.push_back(std::isfinite(error) ? error : 0);
    }
    speeds.relative_error = db::median(errors);
    maps.push_back(judged_map(
        fmt::format("Messages of {}, {}", bytes_text(static_cast<double>(*bytes)),
                    speeds.latency ? "\u00b5s" : "GB/s"),
        speeds, db::judge_pairs(speeds), speeds.latency ? 1e6 : static_cast<double>(*bytes) / 1e9));
  }
  return maps;
}

}  // namespace

std::vector<LinkMap> load_link_maps(const db::Connection& connection, std::int64_t run_id) {
  const std::vector<db::RunLink> links = db::load_run_links(connection, run_id);
  if (links.empty()) return maps_of_pairs(db::load_sampled_measurements(connection, run_id));
  const std::vector<db::RunRank> ranks = db::load_run_ranks(connection, run_id);
  const db::PairSpeeds speeds = db::host_speeds(links, ranks);
  if (speeds.names.size() < 2) return {};
  return {
      judged_map("Exchanges of the training, GB/s", speeds, db::judge_hosts(links, ranks), 1e-9)};
}

std::string finding_text(const LinkMap& map) {
  const std::vector<std::string> findings = map.judged.findings();
  if (findings.empty()) return "none is slower than the others";
  return fmt::format("{}", fmt::join(findings, "; "));
}

}  // namespace viewer
