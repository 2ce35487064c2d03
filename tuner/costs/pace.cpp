#include "tuner/costs/pace.h"

#include <map>
#include <string>

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

void set_pace(const Observations& some, const Observations& all, CostModel& costs) {
  constexpr bool kTogether = true;
  const std::map<int, RankSlowdown> then = rank_slowdowns(some, costs, kTogether),
                                    mean = rank_slowdowns(all, costs, kTogether);
  if (then.empty() || mean.empty()) return;
  const double flops = then.at(0).by_flops / mean.at(0).by_flops,
               bytes = then.at(0).by_bytes / mean.at(0).by_bytes;
  for (auto& [key, fit] : costs.fits) {
    const bool by_flops = fit.unit == "flop";
    if (!by_flops && !is_of_computation_by_bytes(key, all)) continue;
    const double factor = by_flops ? flops : bytes;
    fit.alpha_s *= factor;
    fit.beta_s_per_unit *= factor;
    if (fit.alpha_error_s) *fit.alpha_error_s *= factor;
    if (fit.beta_error_s_per_unit) *fit.beta_error_s_per_unit *= factor;
  }
}

}  // namespace tuner
