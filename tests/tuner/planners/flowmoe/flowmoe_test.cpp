#include "tuner/planners/flowmoe/flowmoe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "moe/errors.h"
#include "tests/tuner/planners/even_situation.h"
#include "tests/tuner/planners/planned.h"
#include "tests/tuner/single_costs.h"
#include "tuner/planners/pipelined/pipelined.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/simulate.h"

namespace tuner::flowmoe_test {
namespace {

using namespace test;
using ::testing::HasSubstr;

moe::Model model_of(int micro_batches, int blocks = 3) {
  moe::Model model = two_moe_layers();
  model.blocks = blocks;
  model.micro_batches = micro_batches;
  model.global_batch = 4 * micro_batches;
  return model;
}

PlannerOptions asking(const PlannerOption& option, double value) {
  return {.asked = {{option.key, value}}};
}

/// The simulated time of an iteration of parts in which each stretch of computation between two
/// exchanges takes `stretch_s`, each exchange `exchange_s`, and all else no time.
double simulated_evenly(const EvenSituation& even, const moe::Schedule& schedule, double stretch_s,
                        double exchange_s) {
  const moe::Program program = moe::apply(even.program, schedule);
  std::vector<OpCost> costs =
      single_costs(program, even.groups, even.routing, even.costs, even.cluster);
  // The last op of a stretch has its time: it needs what the exchange before it brought.
  std::map<std::pair<int, moe::Phase>, std::size_t> last;  // of the stretch of a micro-batch
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (moe::is_communication(op)) {
      const bool exchanges = moe::exchanges_rows(op);
      for (GroupCall& call : costs[i].calls) call.alpha_s = exchanges ? exchange_s : 0;
      if (exchanges) last.erase({op.micro_batch, op.phase});
      continue;
    }
    costs[i].seconds.assign(costs[i].seconds.size(), 0);
    if (moe::comes_once(op)) continue;
    const auto [stretch, begins] = last.try_emplace({op.micro_batch, op.phase}, i);
    if (!begins) std::swap(costs[i].seconds, costs[stretch->second].seconds);
    costs[i].seconds.assign(costs[i].seconds.size(), stretch_s);
    stretch->second = i;
  }
  return run_simulation(program, even.groups, costs, even.costs, even.cluster).duration_s;
}

TEST(FlowMoe, ClosedFormIsExactWherePartsAndStretchesAreAlike) {
  constexpr int kBlocks = 3, kExchanges = 2 * kBlocks;
  for (const int parts : {2, 3, 4}) {
    const EvenSituation even(model_of(parts, kBlocks), 4, {1e18, 0});
    const moe::Schedule schedule =
        plan_flowmoe(even.situation, asking(kTogether, static_cast<double>(parts)));
    for (const double exchange_s : {0.25, 1.0, 1.5, 4.0}) {
      const PassInParts pass{.computing_s = parts * (kExchanges + 1.0),
                             .exchanging_s = parts * kExchanges * exchange_s,
                             .first_s = 1,
                             .last_s = 1,
                             .longest_s = kExchanges * (1 + exchange_s) + 1};
      EXPECT_NEAR(simulated_evenly(even, schedule, 1, exchange_s), 2 * pass_in_parts_s(pass), 1e-6)
          << parts << " parts, exchanges of " << exchange_s;
    }
  }
}

TEST(FlowMoe, ClosedFormOfASinglePartIsItsSum) {
  EXPECT_DOUBLE_EQ(
      pass_in_parts_s(
          {.computing_s = 3, .exchanging_s = 4, .first_s = 1, .last_s = 1, .longest_s = 7}),
      7);
}

TEST(FlowMoe, HidesExchangesBehindAttentionInBothPhases) {
  EvenSituation even(model_of(4), 4, {1e9, 1e-6});
  even.costs.fits["memory"].beta_s_per_unit = 0;
  const Situation& situation = even.situation;
  const moe::Schedule schedule = plan_flowmoe(situation, {});
  const double simulated = simulated_s(situation, schedule),
               paper = flowmoe_paper_seconds(situation, schedule);
  EXPECT_LT(simulated, simulated_s(situation, {}));
  EXPECT_LT(simulated, simulated_s(situation, plan_pipemoe(situation, {})))
      << "which hides exchanges behind experts alone";
  EXPECT_NEAR(simulated, paper, 0.05 * paper);
}

TEST(FlowMoe, GroupsOfAllSizesAreTriedUnlessOneIsAskedFor) {
  const EvenSituation even(model_of(6));
  std::vector<int> sizes;
  for (const Candidate& one : flowmoe_candidates(even.situation, {})) {
    for (const auto& order : moe::decisions_of<moe::OrderMicroBatches>(one.schedule)) {
      sizes.push_back(order.group_size);
    }
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(2, 4, 6));
  const auto asked = flowmoe_candidates(even.situation, asking(kTogether, 3));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_THAT(flowmoe_parameters(asked.front().schedule), HasSubstr(R"("together": 3)"));
  try {
    flowmoe_candidates(even.situation, asking(kTogether, 7));
    FAIL();
  } catch (const moe::Refusal& error) {
    EXPECT_THAT(error.what(), HasSubstr("7 of 6 micro-batches together: expected at most 6"));
  }
}

TEST(FlowMoe, GradientsInSlicesFillIdleTimeOfBackward) {
  const EvenSituation even(model_of(2, 4), 4, {2e8, 1e-6});
  const Situation& situation = even.situation;
  const moe::Schedule small = plan_flowmoe(situation, asking(kSliceKib, 64)),
                      best = plan_flowmoe(situation, {});
  moe::Schedule after = small;
  std::erase_if(after.decisions, [](const moe::Decision& decision) {
    return std::holds_alternative<moe::SliceAllReduce>(decision) ||
           std::holds_alternative<moe::PlaceAllReduce>(decision);
  });
  EXPECT_FALSE(moe::decisions_of<moe::PlaceAllReduce>(small).empty());
  EXPECT_LT(simulated_s(situation, small), simulated_s(situation, after));
  EXPECT_LE(simulated_s(situation, best), simulated_s(situation, after));
  // No slice has more bytes than asked for, but for the rows that are not cut.
  const moe::Program program = moe::apply(situation.program, small);
  for (const moe::Op& op : program.ops) {
    if (!moe::reduces_gradients(op)) continue;
    std::int64_t bytes = 0, row = 0;
    for (const moe::Use& use : op.writes) {
      const moe::Tensor& tensor = program.tensors[static_cast<std::size_t>(use.tensor)];
      const std::int64_t of_row = tensor.columns * moe::bytes_of(tensor.dtype);
      bytes += of_row *
               (moe::slice_end(tensor.rows, use.slice) - moe::slice_begin(tensor.rows, use.slice));
      row = std::max(row, of_row);
    }
    EXPECT_LE(bytes, 64 * 1024 + row) << op.name;
  }
}

TEST(FlowMoe, NeedsSeveralMicroBatchesAndOneStage) {
  const EvenSituation whole(model_of(1));
  const EvenSituation stages(model_of(2, 2), moe::Layout{1, 1, 1, 1, 2}, {2.5e8, 5e-5});
  for (const EvenSituation* even : {&whole, &stages}) {
    EXPECT_TRUE(plan_flowmoe(even->situation, {}).decisions.empty());
    EXPECT_TRUE(flowmoe_candidates(even->situation, {}).empty());
  }
  EXPECT_EQ(flowmoe_parameters(plan_flowmoe(whole.situation, {})), "{}");
}

}  // namespace
}  // namespace tuner::flowmoe_test
