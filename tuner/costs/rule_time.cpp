#include "tuner/costs/rule_time.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "moe/rows/tensor.h"

namespace tuner {
namespace {

constexpr std::size_t kLateRules = 3;
/// By bytes of counts: 4 ranks with 16 experts, 16 with 64, 64 with 256, and 256 with 256.
constexpr std::array<double, 4> kRuleBytes{256, 4096, 65536, 262144};
/// [rule][size]: seconds. [ours: planning_time --benchmark_filter=share_out, on one core of a virtual
/// machine of two]
constexpr std::array<std::array<double, 4>, kRules.size()> kRuleSeconds{{
    {3.2e-6, 1.7e-5, 1.0e-4, 6.5e-4},
    {2.9e-6, 1.4e-5, 7.8e-5, 6.9e-4},
    {2.6e-6, 1.6e-5, 1.3e-4, 1.3e-3},
    {4.6e-6, 3.1e-5, 2.1e-4, 1.4e-3},
    {9.1e-6, 7.2e-5, 5.4e-4, 7.5e-3},
}};

}  // namespace

std::string_view rule_of(const moe::ExpertPlacement& placement) {
  if (moe::is_late(placement)) return kRules[static_cast<std::size_t>(placement.late.rule)];
  if (!moe::shares_rows_out(placement) || !moe::has_replicas(placement)) return "";
  return kRules[kLateRules + static_cast<std::size_t>(placement.balanced_by)];
}

std::string_view rule_at(const std::map<int, moe::ExpertPlacement>& placements, const moe::Op& op) {
  const auto found = placements.find(op.layer);
  return moe::binds_routing(op) && found != placements.end() ? rule_of(found->second) : "";
}

double counted_bytes(int experts, const moe::Groups& groups) {
  const double ranks = groups.layout.expert * groups.layout.expert_sharded;
  return ranks * experts * static_cast<double>(moe::bytes_of(moe::DType::i32));
}

double rule_seconds(const CostModel& costs, std::string_view rule, double bytes) {
  if (rule.empty()) return 0;
  if (const auto fit = costs.fits.find(std::string(rule)); fit != costs.fits.end()) {
    return seconds_of(fit->second, 1, bytes);
  }
  std::size_t at = 0;
  while (kRules[at] != rule) ++at;
  std::vector<SizeTime> points;
  for (std::size_t i = 0; i < kRuleBytes.size(); ++i)
    points.push_back({kRuleBytes[i], kRuleSeconds[at][i]});
  return seconds_of(fit_points(std::move(points), "byte"), 1, bytes);
}

}  // namespace tuner
