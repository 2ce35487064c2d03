#include "tuner/costs/fit_records.h"

#include <set>
#include <utility>

namespace tuner {
namespace {

std::string key_of_record(const db::Fit& record) {
  return record.link.empty() ? record.op : link_key(record.op, record.link);
}

}  // namespace

db::Fit to_record(const std::string& key, const LinearFit& fit, const std::string& device,
                  int ranks) {
  db::Fit record;
  const auto slash = key.rfind('/');
  record.op = key.substr(0, slash);
  record.link = slash == std::string::npos ? "" : key.substr(slash + 1);
  record.device = device;
  record.ranks = ranks;
  record.unit = fit.unit;
  record.verdict = verdict_of(fit);
  each_figure(
      [](const char* /*name*/, auto& to, const auto& from) {
        if constexpr (requires { to = from; }) {
          to = from;
        } else {
          to = from.value_or(0);
        }
      },
      record, fit);
  record.points_json = db::json_of_points(fit.points);
  return record;
}

LinearFit from_record(const db::Fit& record) {
  LinearFit fit;
  fit.unit = record.unit;
  each_figure([](const char* /*name*/, auto& to, const auto& from) { to = from; }, fit, record);
  if (!record.relative_deviation) fit.r2.reset();
  fit.points = db::points_of_json(record.points_json);
  return fit;
}

std::vector<db::Fit> changed_fits(const CostModel& before, const CostModel& now, int ranks) {
  std::vector<db::Fit> changed;
  for (const auto& [key, fit] : now.fits) {
    const auto known = before.fits.find(key);
    if (known != before.fits.end() && known->second == fit) continue;
    changed.push_back(to_record(key, fit, now.device, ranks));
  }
  return changed;
}

CostModel costs_of_records(std::span<const db::Fit> fits, std::string device) {
  CostModel costs;
  costs.device = std::move(device);
  std::set<std::string> seen;
  for (const db::Fit& record : fits) {
    if (record.device != costs.device || !seen.insert(key_of_record(record)).second) continue;
    if (record.unit == "second") {
      set_speed(costs.interference, record.op, 1 / record.beta_s_per_unit);
    } else {
      costs.fits.emplace(key_of_record(record), from_record(record));
    }
  }
  return costs;
}

CostedCluster measured_cluster(CostModel costs, std::string name, int nodes, int ranks_per_node) {
  CostedCluster result;
  Cluster& cluster = result.cluster;
  cluster.name = std::move(name);
  cluster.device = costs.device;
  cluster.nodes = nodes;
  cluster.ranks_per_node = ranks_per_node;
  for (const auto& [key, fit] : costs.fits) {
    const bool between = key.ends_with("/inter_node");
    // Exchanges of counts are all latency: they say nothing of the link's rate.
    if (!(between || key.ends_with("/intra_node")) || !(fit.beta_s_per_unit > 0) ||
        key.starts_with("exchange_counts/") || key.starts_with("gather_loads/")) {
      continue;
    }
    Link& link = between ? cluster.inter_node : cluster.intra_node;
    // All ranks of a node reached their rate at once, so the card carries all of theirs.
    const double rate = (between ? ranks_per_node : 1) / fit.beta_s_per_unit;
    if (rate > link.bandwidth_bytes_per_s) link = {rate, fit.alpha_s};
  }
  result.costs = std::move(costs);
  return result;
}

}  // namespace tuner
