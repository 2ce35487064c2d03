#include "tuner/costs/used_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "moe/program/work.h"
#include "tuner/costs/cluster_fits.h"
#include "tuner/costs/rule_time.h"

namespace tuner {
namespace {

const CollectiveFit* fit_on(const CostModel& costs, const moe::Op& op, Occupation link) {
  return collective_fit(costs, op, name_of(link));
}

/// Of the links that a collective crosses. A rank on its own crosses none: it has the fit inside a
/// node.
std::vector<const CollectiveFit*> fits_of_collective(const CostModel& costs, const moe::Op& op,
                                                     const Crossed& crossed) {
  std::vector<const CollectiveFit*> fits;
  if (crossed.between_nodes) fits.push_back(fit_on(costs, op, Occupation::inter_node));
  if (crossed.within_node || !crossed.between_nodes) {
    fits.push_back(fit_on(costs, op, Occupation::intra_node));
  }
  std::erase(fits, nullptr);
  return fits;
}

/// "bf16" of "linear_bf16[8 rows, 4x6]".
std::string_view type_of_key(std::string_view key) {
  return type_of_fit(key.substr(0, key.find_first_of("[/")));
}

std::string line_of(const CostModel& costs, const std::string& what, const CollectiveFit& used,
                    double units) {
  const auto& [key, fit] = used;
  if (fit.samples == 0) {
    return fmt::format("{}: {}, {}as the cluster file says", what, key,
                       costs.measured.contains(key) ? "measured " : "");
  }
  return fmt::format("{}: {}, {}{} sample{}{}", what, key,
                     fit.r2 ? fmt::format("r2 {:.4f}, ", *fit.r2) : "", fit.samples,
                     fit.samples == 1 ? "" : "s",
                     units > 0 && extrapolates(fit, units) ? kExtrapolated : "");
}

}  // namespace

std::vector<std::string> fits_used(const CostModel& costs, const moe::Program& program,
                                   const std::vector<OpCost>& ops, const moe::Binding& binding,
                                   const moe::Groups& groups) {
  std::set<std::string> lines;
  const auto placements = moe::placements(program);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (!moe::is_communication(op)) {
      lines.insert(line_of(costs, shape_key(program, op),
                           *costs.fits.find(fit_key(costs, program, op)),
                           units_of(program, op, binding, groups, 0, costs.device).units));
      continue;
    }
    const std::string name(moe::kind_name(op));
    const auto found = fits_of_collective(costs, op, crossed_by(ops[i]));
    const auto bytes = moe::work_of(program, op, binding, groups, 0).wire_bytes;
    for (const CollectiveFit* fit : found) {
      lines.insert(line_of(costs, name, *fit, static_cast<double>(bytes)));
    }
    if (found.empty()) lines.insert(name + std::string(kByLinks));
    const std::string_view rule = rule_at(placements, op);
    if (rule.empty()) continue;
    const auto fit = costs.fits.find(std::string(rule));
    lines.insert(
        fit == costs.fits.end()
            ? fmt::format("{}: {}, as measured where this was written", name, rule)
            : line_of(costs, name, *fit, counted_bytes(moe::counts_of(op)->experts, groups)));
  }
  return {lines.begin(), lines.end()};
}

std::string beyond_measured(const std::vector<std::string>& lines) {
  const auto ending = [&](std::string_view end) {
    std::vector<std::string> found;
    for (const std::string& line : lines) {
      if (line.ends_with(end)) found.push_back(line.substr(0, line.find_first_of("[:")));
    }
    return found;
  };
  const std::vector<std::string> extrapolated = ending(kExtrapolated), by_links = ending(kByLinks);
  const auto named = [](const std::vector<std::string>& kinds) {
    return fmt::format("{}", fmt::join(std::set<std::string>(kinds.begin(), kinds.end()), ", "));
  };
  std::vector<std::string> parts;
  if (!extrapolated.empty()) {
    parts.push_back(fmt::format("{} {} extrapolated ({})", extrapolated.size(),
                                extrapolated.size() == 1 ? "is" : "are", named(extrapolated)));
  }
  if (!by_links.empty()) {
    parts.push_back(fmt::format(
        "{} {} the rate of {} alone ({})", by_links.size(), by_links.size() == 1 ? "has" : "have",
        by_links.size() == 1 ? "its link" : "their links", named(by_links)));
  }
  if (parts.empty()) return "";
  return fmt::format("of {} shapes of ops {}", lines.size(), fmt::join(parts, ", and "));
}

void FitUse::merge(FitUse other) {
  used.merge(other.used);
  of_other_link.merge(other.of_other_link);
}

FitUse fit_use(const CostModel& costs, const moe::Program& program,
               const std::vector<OpCost>& ops) {
  FitUse use;
  const auto placements = moe::placements(program);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (!moe::is_communication(op)) {
      use.used.insert(fit_key(costs, program, op));
      continue;
    }
    if (const auto rule = rule_at(placements, op); !rule.empty()) use.used.emplace(rule);
    const Crossed crossed = crossed_by(ops[i]);
    const auto fits = fits_of_collective(costs, op, crossed);
    for (const CollectiveFit* fit : fits) use.used.insert(fit->first);
    if (!fits.empty() || crossed.between_nodes == crossed.within_node) continue;
    const auto* other =
        fit_on(costs, op, crossed.between_nodes ? Occupation::intra_node : Occupation::inter_node);
    if (other != nullptr) use.of_other_link.insert(other->first);
  }
  return use;
}

std::string unused_fits(const CostModel& costs, const FitUse& use) {
  std::set<std::string_view> types{moe::name_of(moe::DType::f32)};
  for (const std::string& key : use.used) types.insert(type_of_key(key));
  std::vector<std::string> unused;
  bool crosses_other = false;
  for (const auto& [key, fit] : costs.fits) {
    const bool is_told = fit.samples == 0, is_of_other = use.of_other_link.contains(key);
    if (!is_told || use.used.contains(key) || (is_general_fit(key) && !is_of_other)) continue;
    if (!types.contains(type_of_key(key))) continue;  // a fit for models of another precision
    unused.push_back(key);
    crosses_other |= is_of_other;
  }
  if (unused.empty()) return "";
  return fmt::format(
      "no op uses the fit{} of {} in the cluster's file{}", unused.size() == 1 ? "" : "s",
      fmt::join(unused, ", "),
      crosses_other ? "; ops that cross only the other link cost what that link says" : "");
}

}  // namespace tuner
