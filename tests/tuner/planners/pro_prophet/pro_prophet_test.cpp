#include "tuner/planners/pro_prophet/pro_prophet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/planners/placement/placed_schedule.h"
#include "tuner/planners/placement/transfer_loads.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner::pro_prophet_test {
namespace {

using test::SkewedSituation;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The slices of a layer's transfer; empty where it is sent at once in its place.
std::vector<moe::TransferSlice> slices_of(const moe::Schedule& schedule, int layer,
                                          moe::Transfer transfer) {
  for (const auto& hoisting : moe::decisions_of<moe::HoistTransfer>(schedule)) {
    if (hoisting.layer == layer && hoisting.transfer == transfer) return hoisting.slices;
  }
  return {};
}

int share_at(const std::vector<moe::TransferSlice>& slices, moe::ExchangePlace place, int at) {
  int share = 0;
  for (const auto& slice : slices) {
    if (slice.after == place && slice.at == at) share += slice.share;
  }
  return share;
}

TEST(ProProphet, PlannerSendsAndSchedulerHidesTheSame) {
  const SkewedSituation skewed;
  const moe::Schedule planner = plan_pro_prophet_planner(skewed.situation, {});
  const moe::Schedule scheduler = plan_pro_prophet_scheduler(skewed.situation, {});
  EXPECT_THAT(moe::decisions_of<moe::HoistTransfer>(planner), IsEmpty());
  EXPECT_THAT(moe::decisions_of<moe::StreamAssignment>(planner), IsEmpty());
  EXPECT_EQ(moe::decisions_of<moe::ReplicateExperts>(planner),
            moe::decisions_of<moe::ReplicateExperts>(scheduler));
  // Three home, two out: nobody stands before the first layer.
  EXPECT_THAT(moe::decisions_of<moe::HoistTransfer>(scheduler), SizeIs(5));
  EXPECT_THAT(slices_of(scheduler, 0, moe::Transfer::send), IsEmpty());
  EXPECT_THAT(moe::decisions_of<moe::StreamAssignment>(scheduler), SizeIs(3));
}

TEST(ProProphet, EachFormIsNoSlowerThanTheOneBefore) {
  const SkewedSituation skewed;
  const auto& situation = skewed.situation;
  const double home_s = simulated_s(situation, {});
  const moe::Schedule planner = plan_pro_prophet_planner(situation, {});
  const moe::Schedule scheduler = plan_pro_prophet_scheduler(situation, {});
  const moe::Schedule full = plan_pro_prophet(situation, {});
  const double planner_s = simulated_s(situation, planner);
  const double scheduler_s = simulated_s(situation, scheduler);
  const double full_s = simulated_s(situation, full);
  const std::string line = fmt::format(
      "over none: planner {:.2f}, with scheduler {:.2f}, full {:.2f}; by the paper's form {:.2f}, "
      "{:.2f}, {:.2f}",
      home_s / planner_s, home_s / scheduler_s, home_s / full_s,
      placed_iteration_s(situation, {}, Transfers::blocking) /
          placed_iteration_s(situation, planner, Transfers::blocking),
      placed_iteration_s(situation, {}, Transfers::blocking) /
          placed_iteration_s(situation, scheduler, Transfers::overlapped),
      placed_iteration_s(situation, {}, Transfers::blocking) /
          placed_iteration_s(situation, full, Transfers::overlapped));
  fmt::print("{}\n", line);
  EXPECT_LT(planner_s, home_s) << line;
  EXPECT_LT(scheduler_s, planner_s) << line;
  EXPECT_LT(full_s, 1.01 * scheduler_s) << line;
  EXPECT_LE(placed_iteration_s(situation, full, Transfers::overlapped),
            placed_iteration_s(situation, scheduler, Transfers::overlapped));
  EXPECT_LT(placed_iteration_s(situation, scheduler, Transfers::overlapped),
            placed_iteration_s(situation, planner, Transfers::blocking));
}

TEST(ProProphet, FillsTheTimeWithoutExpertsFirst) {
  for (const double slower : {1.0, 30.0}) {
    SkewedSituation skewed;
    // The rows' exchange with it, so that sending still pays.
    skewed.costs.fits["all_to_all/inter_node"].beta_s_per_unit *= slower;
    const moe::Schedule schedule = plan_pro_prophet(skewed.situation, {});
    const auto layers = placed_layers(skewed.situation);
    for (const int layer : {1, 2}) {
      const auto& costs = layers[static_cast<std::size_t>(layer)].costs;
      const moe::ExpertPlacement placement = placement_of(schedule, layer);
      ASSERT_FALSE(placement.replicas.empty());
      const auto [trans_s, agg_s] =
          transfer_times(costs, placement, layers[static_cast<std::size_t>(layer)].rows.homes);
      const auto slices = slices_of(schedule, layer, moe::Transfer::send);
      const int known = share_at(slices, moe::ExchangePlace::combine, layer - 1);
      const int rest = share_at(slices, moe::ExchangePlace::dispatch, layer - 1);
      EXPECT_EQ(known + rest, 100);
      EXPECT_NEAR(known, 100 * std::min(1.0, costs.fnec_s / trans_s), 0.5 + 1e-9);
      if (slower > 1) {
        EXPECT_GT(rest, 0);
      }
      const auto home = slices_of(schedule, layer, moe::Transfer::give_back);
      EXPECT_NEAR(share_at(home, moe::ExchangePlace::block, layer),
                  100 * std::min(1.0, costs.bnec_s / agg_s), 0.5 + 1e-9);
      EXPECT_EQ(share_at(home, moe::ExchangePlace::block, layer) +
                    share_at(home, moe::ExchangePlace::dispatch, layer - 1),
                100);
    }
  }
}

TEST(ProProphet, AsReleasedSendsHalfOfATransferAtEachOfItsPlaces) {
  const SkewedSituation skewed(moe::Layout{1, 4, 1}, "zipf:2");
  PlannerOptions options;
  options.asked[kReleased.key] = 1;
  const moe::Schedule schedule = plan_pro_prophet(skewed.situation, options);
  const auto sent = moe::decisions_of<moe::ReplicateExperts>(schedule);
  ASSERT_FALSE(sent.empty());
  for (const auto& decision : sent) {
    for (const auto& replica : decision.placement.replicas) {
      EXPECT_GE(replica.holders.size(), 2u);
    }
    if (decision.layer == 0) continue;
    const auto slices = slices_of(schedule, decision.layer, moe::Transfer::send);
    EXPECT_EQ(share_at(slices, moe::ExchangePlace::dispatch, decision.layer - 1), 50);
    EXPECT_EQ(share_at(slices, moe::ExchangePlace::combine, decision.layer - 1), 50);
  }
  EXPECT_LT(simulated_s(skewed.situation, schedule), simulated_s(skewed.situation, {}));
}

TEST(ProProphet, StaysAboveTheLowerBoundInEveryLayout) {
  for (const moe::Layout& layout : {moe::Layout{2, 2, 1}, moe::Layout{1, 2, 2},
                                    moe::Layout{1, 2, 1, 1, 2}, moe::Layout{1, 4, 1}}) {
    for (const int micro_batches : {1, 2}) {
      const SkewedSituation skewed(layout, "zipf:1.5", micro_batches);
      for (auto* plan : {plan_pro_prophet_planner, plan_pro_prophet_scheduler, plan_pro_prophet}) {
        const moe::Schedule schedule = plan(skewed.situation, {});
        EXPECT_EQ(moe::to_json(moe::schedule_from_json(moe::to_json(schedule))),
                  moe::to_json(schedule));
        const moe::Program program = moe::apply(skewed.program, schedule);
        EXPECT_LE(lower_bound(program, skewed.groups, skewed.routing, skewed.costs, skewed.cluster)
                      .seconds(),
                  simulated_s(skewed.situation, schedule))
            << to_text(layout);
      }
    }
  }
}

}  // namespace
}  // namespace tuner::pro_prophet_test
