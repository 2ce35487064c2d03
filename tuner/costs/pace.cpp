#include "tuner/costs/pace.h"

#include <map>
#include <string>
#include <utility>
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

/// The mean over the ranks and iterations of CostModel::slowdowns; 1 where there are none.
double mean_of(const std::vector<Slowdowns>& slowdowns, double RankSlowdown::*part) {
  double sum = 0;
  int count = 0;
  for (const Slowdowns& of_ranks : slowdowns) {
    for (const RankSlowdown& of_rank : of_ranks) {
      sum += of_rank.*part;
      ++count;
    }
  }
  return count > 0 ? sum / count : 1;
}

double median_of(std::span<const RankSlowdown> paces, double RankSlowdown::*part) {
  std::vector<double> values;
  for (const RankSlowdown& pace : paces) values.push_back(pace.*part);
  return db::median(std::move(values));
}

}  // namespace

std::optional<RankSlowdown> pace_of(std::span<const Observations> iterations,
                                    const CostModel& costs) {
  constexpr bool kTogether = true;
  std::vector<RankSlowdown> paces;
  for (const Observations& seen : iterations) {
    const std::map<int, RankSlowdown> slowdowns = rank_slowdowns(seen, costs, kTogether);
    if (!slowdowns.empty()) paces.push_back(slowdowns.at(0));
  }
  if (paces.empty()) return std::nullopt;
  return RankSlowdown{median_of(paces, &RankSlowdown::by_flops),
                      median_of(paces, &RankSlowdown::by_bytes),
                      median_of(paces, &RankSlowdown::all)};
}

double set_pace(std::span<const RankSlowdown> moments, const Observations& seen, CostModel& costs) {
  if (moments.empty()) return 1;
  const auto factor_of = [&](double RankSlowdown::*part) {
    return median_of(moments, part) / mean_of(costs.slowdowns, part);
  };
  const double flops = factor_of(&RankSlowdown::by_flops),
               bytes = factor_of(&RankSlowdown::by_bytes);
  for (auto& [key, fit] : costs.fits) {
    const bool is_by_flops = fit.unit == "flop";
    if (!is_by_flops && !is_of_computation_by_bytes(key, seen)) continue;
    const double factor = is_by_flops ? flops : bytes;
    fit.alpha_s *= factor;
    fit.beta_s_per_unit *= factor;
    if (fit.alpha_error_s) *fit.alpha_error_s *= factor;
    if (fit.beta_error_s_per_unit) *fit.beta_error_s_per_unit *= factor;
  }
  return factor_of(&RankSlowdown::all);
}

}  // namespace tuner
