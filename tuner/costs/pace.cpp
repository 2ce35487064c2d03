#include "tuner/costs/pace.h"

#include <map>
#include <string>
#include <vector>

#include "db/console/statistics.h"
#include "tuner/costs/rank_slowdown.h"

namespace tuner {
namespace {

/// Whether ops have this fit that compute by bytes: copies and collectives are not among them.
bool is_of_computation_by_bytes(const std::string& key, const Observations& seen) {
  if (key == "memory") return true;
  const auto shape = seen.kind_of.find(key);
  const auto copies = seen.copies.find(shape == seen.kind_of.end() ? key : shape->second);
  return copies != seen.copies.end() && !copies->second;
}

}  // namespace

double set_pace(std::span<const Observations> moments, const Observations& all, CostModel& costs) {
  constexpr bool kTogether = true;
  std::vector<double> by_flops, by_bytes, of_all;
  for (const Observations& moment : moments) {
    const std::map<int, RankSlowdown> slowdowns = rank_slowdowns(moment, costs, kTogether);
    if (slowdowns.empty()) continue;
    by_flops.push_back(slowdowns.at(0).by_flops);
    by_bytes.push_back(slowdowns.at(0).by_bytes);
    of_all.push_back(slowdowns.at(0).all);
  }
  const std::map<int, RankSlowdown> mean = rank_slowdowns(all, costs, kTogether);
  if (of_all.empty() || mean.empty()) return 1;
  const double flops = db::median(by_flops) / mean.at(0).by_flops,
               bytes = db::median(by_bytes) / mean.at(0).by_bytes;
  for (auto& [key, fit] : costs.fits) {
    const bool is_by_flops = fit.unit == "flop";
    if (!is_by_flops && !is_of_computation_by_bytes(key, all)) continue;
    const double factor = is_by_flops ? flops : bytes;
    fit.alpha_s *= factor;
    fit.beta_s_per_unit *= factor;
    if (fit.alpha_error_s) *fit.alpha_error_s *= factor;
    if (fit.beta_error_s_per_unit) *fit.beta_error_s_per_unit *= factor;
  }
  return db::median(of_all) / mean.at(0).all;
}

}  // namespace tuner
