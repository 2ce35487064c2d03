#include "tuner/costs/pace.h"

#include <map>
#include <string>

#include "tuner/costs/rank_slowdown.h"

namespace tuner {
namespace {

/// Of the fits of computation: the key, and whether its units are flops.
std::map<std::string, bool> fits_of_computation(const Observations& seen, const CostModel& costs) {
  std::map<std::string, bool> by_flops;
  for (const auto& [shape, kind] : seen.kind_of) {
    if (seen.copies.at(kind)) continue;
    by_flops[shape] = by_flops[kind] = seen.by_flops.at(kind);
  }
  for (const auto& [key, fit] : costs.fits) {
    if (key.starts_with("gemm")) by_flops[key] = true;
    if (key == "memory") by_flops[key] = false;
  }
  return by_flops;
}

}  // namespace

void set_pace(const Observations& some, const Observations& all, CostModel& costs) {
  constexpr bool kTogether = true;
  const std::map<int, RankSlowdown> then = rank_slowdowns(some, costs, kTogether),
                                    mean = rank_slowdowns(all, costs, kTogether);
  if (then.empty() || mean.empty()) return;
  const double flops = then.at(0).by_flops / mean.at(0).by_flops,
               bytes = then.at(0).by_bytes / mean.at(0).by_bytes;
  for (const auto& [key, by_flops] : fits_of_computation(all, costs)) {
    const auto found = costs.fits.find(key);
    if (found == costs.fits.end()) continue;
    const double factor = by_flops ? flops : bytes;
    LinearFit& fit = found->second;
    fit.alpha_s *= factor;
    fit.beta_s_per_unit *= factor;
    if (fit.alpha_error_s) *fit.alpha_error_s *= factor;
    if (fit.beta_error_s_per_unit) *fit.beta_error_s_per_unit *= factor;
  }
}

}  // namespace tuner
