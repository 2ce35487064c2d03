#include "tuner/costs/used_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "moe/program/work.h"
#include "tuner/costs/cluster_fits.h"

namespace tuner {

std::vector<std::string> fits_used(const CostModel& costs, const moe::Program& program,
                                   const moe::Binding& binding, const moe::Groups& groups) {
  std::set<std::string> lines;
  const auto describe = [](const std::string& what, const std::string& key, const LinearFit& fit,
                           double units) {
    if (fit.samples == 0) return fmt::format("{}: {}, as the cluster file says", what, key);
    return fmt::format("{}: {}, {}{} sample{}{}", what, key,
                       fit.r2 ? fmt::format("r2 {:.4f}, ", *fit.r2) : "", fit.samples,
                       fit.samples == 1 ? "" : "s", extrapolates(fit, units) ? kExtrapolated : "");
  };
  for (const moe::Op& op : program.ops) {
    if (moe::is_communication(op)) {
      bool found = false;
      for (std::string_view link : {"inter_node", "intra_node"}) {
        if (const CollectiveFit* found_fit = collective_fit(costs, op, link)) {
          const auto work = moe::work_of(program, op, binding, groups, 0);
          lines.insert(describe(std::string(moe::kind_name(op)), found_fit->first,
                                found_fit->second, static_cast<double>(work.wire_bytes)));
          found = true;
        }
      }
      if (!found) lines.insert(fmt::format("{}: the cluster's links", moe::kind_name(op)));
      continue;
    }
    const std::string& key = fit_key(costs, program, op);
    lines.insert(describe(shape_key(program, op), key, costs.fits.at(key),
                          units_of(program, op, binding, groups, 0, costs.device).units));
  }
  return {lines.begin(), lines.end()};
}

std::set<std::string> fit_keys_used(const CostModel& costs, const moe::Program& program) {
  std::set<std::string> keys;
  for (const moe::Op& op : program.ops) {
    if (!moe::is_communication(op)) {
      keys.insert(fit_key(costs, program, op));
      continue;
    }
    for (const std::string_view link : {"inter_node", "intra_node"}) {
      if (const CollectiveFit* fit = collective_fit(costs, op, link)) keys.insert(fit->first);
    }
  }
  return keys;
}

std::string unused_fits(const CostModel& costs, const std::set<std::string>& used) {
  std::vector<std::string> unused;
  for (const auto& [key, fit] : costs.fits) {
    const bool is_told = fit.samples == 0;
    if (is_told && !is_general_fit(key) && !used.contains(key)) unused.push_back(key);
  }
  if (unused.empty()) return "";
  return fmt::format("no op uses the fit{} of {} in the cluster's file",
                     unused.size() == 1 ? "" : "s", fmt::join(unused, ", "));
}

}  // namespace tuner
