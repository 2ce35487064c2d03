#include "tuner/costs/used_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "moe/program/work.h"
#include "tuner/costs/call_groups.h"
#include "tuner/costs/cluster_fits.h"

namespace tuner {
namespace {

/// The fits of collectives in their groups.
class CollectiveFits {
 public:
  /// Keeps references.
  CollectiveFits(const CostModel& costs, const moe::Groups& groups)
      : costs_(costs), groups_(groups), classes_(single_ranks(groups)), calls_(groups, classes_) {}

  /// Of the links that the op crosses. A rank on its own crosses none: it has the fit inside a node.
  std::vector<const CollectiveFit*> used(const moe::Op& op) {
    const Crossing crossing = crossing_of(op);
    std::vector<const CollectiveFit*> fits;
    const auto add = [&](bool is_used, Occupation link) {
      const CollectiveFit* fit = is_used ? collective_fit(costs_, op, name_of(link)) : nullptr;
      if (fit != nullptr) fits.push_back(fit);
    };
    add(crossing.between, Occupation::inter_node);
    add(crossing.within || !crossing.between, Occupation::intra_node);
    return fits;
  }
  /// Of the other link, where the only one that the op crosses has none; else null.
  const CollectiveFit* of_other_link(const moe::Op& op) {
    const Crossing crossing = crossing_of(op);
    if (crossing.between == crossing.within || !used(op).empty()) return nullptr;
    return collective_fit(
        costs_, op, name_of(crossing.between ? Occupation::intra_node : Occupation::inter_node));
  }

 private:
  struct Crossing {
    bool between = false, within = false;
  };
  Crossing crossing_of(const moe::Op& op) {
    const Calls& calls = calls_.of(op);
    const auto [found, is_new] = known_.try_emplace(&calls);
    if (!is_new) return found->second;
    for (const CallGroup& group : calls.groups) {
      std::set<int> nodes;
      for (const int rank : group.members) nodes.insert(groups_.node_of[rank]);
      found->second.between |= nodes.size() > 1;
      found->second.within |= nodes.size() < group.members.size();
    }
    return found->second;
  }

  const CostModel& costs_;
  const moe::Groups& groups_;
  RankClasses classes_;
  KnownCalls calls_;
  std::map<const Calls*, Crossing> known_;
};

}  // namespace

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
  CollectiveFits collectives(costs, groups);
  for (const moe::Op& op : program.ops) {
    if (moe::is_communication(op)) {
      const std::vector<const CollectiveFit*> found = collectives.used(op);
      for (const CollectiveFit* fit : found) {
        const auto work = moe::work_of(program, op, binding, groups, 0);
        lines.insert(describe(std::string(moe::kind_name(op)), fit->first, fit->second,
                              static_cast<double>(work.wire_bytes)));
      }
      if (found.empty()) lines.insert(fmt::format("{}: the cluster's links", moe::kind_name(op)));
      continue;
    }
    const std::string& key = fit_key(costs, program, op);
    lines.insert(describe(shape_key(program, op), key, costs.fits.at(key),
                          units_of(program, op, binding, groups, 0, costs.device).units));
  }
  return {lines.begin(), lines.end()};
}

void FitUse::merge(FitUse other) {
  used.merge(other.used);
  of_other_link.merge(other.of_other_link);
}

FitUse fit_use(const CostModel& costs, const moe::Program& program, const moe::Groups& groups) {
  FitUse use;
  CollectiveFits collectives(costs, groups);
  for (const moe::Op& op : program.ops) {
    if (!moe::is_communication(op)) {
      use.used.insert(fit_key(costs, program, op));
      continue;
    }
    for (const CollectiveFit* fit : collectives.used(op)) use.used.insert(fit->first);
    if (const auto* fit = collectives.of_other_link(op)) use.of_other_link.insert(fit->first);
  }
  return use;
}

std::string unused_fits(const CostModel& costs, const FitUse& use) {
  std::vector<std::string> unused;
  bool crosses_other = false;
  for (const auto& [key, fit] : costs.fits) {
    const bool is_told = fit.samples == 0, is_of_other = use.of_other_link.contains(key);
    if (!is_told || use.used.contains(key) || (is_general_fit(key) && !is_of_other)) continue;
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
