// The gain of a placement one iteration after the loads from which it was planned, and how even it
// makes the loads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "moe/rows/balance.h"
#include "tests/tuner/planners/drifting_rows.h"
#include "tests/tuner/planners/pro_prophet/drawn_costs.h"
#include "tuner/planners/fastermoe/fastermoe_equations.h"
#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/placed_loads.h"
#include "tuner/planners/pro_prophet/greedy_placement.h"

namespace tuner::balance_over_time_test {
namespace {

constexpr int kDevices = 16;
constexpr int kIterations = 200;
constexpr double kSkew = 1.2;

constexpr double kWeights = 2.0 * 1024 * 2048;
constexpr double kExpert_s = 4 * kWeights / 5e9;

/// MoE-GPT-M on 16 devices of 10 TFLOP/s and 5 GB/s: rows are 1024 wide and meet 2 x 1024 x 2048
/// weights, which are sent along a ring.
ProProphetCosts gpt_m_costs() {
  ProProphetCosts costs{{1e-4, 4096 / 5e9}, {1e-4, 2 * kWeights / 10e12}};
  costs.fnec_s = 5e-3;
  costs.bnec_s = 1e-2;
  const TransferCost::OnLink transfer{1e-4, 0, kExpert_s};
  test::set_transfers(costs, transfer, transfer, 1e-4);
  costs.node_of = test::nodes_apart(kDevices);
  return costs;
}

moe::ExpertPlacement pro_prophet(const moe::LayerRouting& routing, const moe::Groups& groups,
                                 const ProProphetCosts& costs) {
  return greedy_placement(grouped_rows(routing, groups), costs, {Transfers::overlapped}).placement;
}

/// How alike the loads of neighbouring iterations are, and times with a plan over those with that
/// of the same iteration's loads.
struct OverTime {
  double locality = 0;
  double planned_before = 0;    ///< from the iteration before
  double planned_at_first = 0;  ///< once
  double without = 0;
};

OverTime over_time(double drift) {
  const moe::Groups groups = moe::make_groups(kDevices, kDevices);
  const ProProphetCosts costs = gpt_m_costs();
  test::DriftingRows loads(kDevices, kDevices, kSkew, drift, 1);
  OverTime sums;
  moe::LayerRouting before = loads.next(1024);
  const moe::ExpertPlacement at_first = pro_prophet(before, groups, costs);
  double same_s = 0, before_s = 0, first_s = 0, without_s = 0;
  for (int j = 0; j < kIterations; ++j) {
    const moe::LayerRouting now = loads.next(1024);
    const auto seconds = [&](const moe::ExpertPlacement& placement) {
      return placed_layer_s(now, groups, placement, costs, Transfers::overlapped);
    };
    same_s += seconds(pro_prophet(now, groups, costs));
    before_s += seconds(pro_prophet(before, groups, costs));
    first_s += seconds(at_first);
    without_s += seconds({});
    sums.locality +=
        moe::cosine_similarity(moe::expert_tokens(now), moe::expert_tokens(before)).value();
    before = now;
  }
  return {sums.locality / kIterations, before_s / same_s, first_s / same_s, without_s / same_s};
}

TEST(BalanceOverTime, APlanFromTheIterationBeforeIsNearlyAsGoodWhereLoadsDriftSlowly) {
  for (const double drift : {0.0, 0.001, 0.01, 0.1, 0.5}) {
    const OverTime one = over_time(drift);
    const std::string line = fmt::format(
        "drift {}: locality {:.4f}; time with the plan of the iteration before {:.3f}, of the "
        "first {:.3f}, without {:.3f} of "
        "that with its own",
        drift, one.locality, one.planned_before, one.planned_at_first, one.without);
    fmt::print("{}\n", line);
    EXPECT_LT(one.planned_before, drift <= 0.001 ? 1.02 : 2) << line;
    EXPECT_LT(one.planned_before, one.without) << line;
    EXPECT_LE(one.planned_before, one.planned_at_first) << line;
  }
}

TEST(BalanceOverTime, ProProphetMakesLoadsMoreEvenAndIsFasterThanFasterMoe) {
  const moe::Groups groups = moe::make_groups(kDevices, kDevices);
  const ProProphetCosts costs = gpt_m_costs();
  double ratio_sum = 0, fastermoe_sum = 0, fastermoe_s = 0, pro_prophet_s = 0, home_s = 0;
  constexpr int layers = 50;
  for (int layer = 0; layer < layers; ++layer) {
    test::DriftingRows loads(kDevices, kDevices, kSkew, 0.01, 100 + static_cast<unsigned>(layer));
    const moe::LayerRouting routing = loads.next(1024);
    const auto shadows =
        on_all_members(shadowed_experts(moe::expert_tokens(routing), costs.exchange, costs.experts,
                                        {2 * kExpert_s}),
                       moe::homes_in_order(kDevices, kDevices), kDevices);
    const auto placement = pro_prophet(routing, groups, costs);
    ratio_sum += balance_ratio(routing, groups, placement);
    fastermoe_sum += balance_ratio(routing, groups, shadows);
    home_s += placed_layer_s(routing, groups, {}, costs, Transfers::overlapped);
    fastermoe_s += placed_layer_s(routing, groups, shadows, costs, Transfers::blocking);
    pro_prophet_s += placed_layer_s(routing, groups, placement, costs, Transfers::overlapped);
  }
  const std::string line = fmt::format(
      "RB on average {:.2f}, FasterMoE's {:.2f}; time {:.2f} of that without, FasterMoE's {:.2f}",
      ratio_sum / layers, fastermoe_sum / layers, pro_prophet_s / home_s, fastermoe_s / home_s);
  fmt::print("{}\n", line);
  EXPECT_GT(ratio_sum / layers, 1) << line;
  EXPECT_LT(pro_prophet_s, fastermoe_s) << line;
  EXPECT_LT(pro_prophet_s, home_s) << line;
}

}  // namespace
}  // namespace tuner::balance_over_time_test
