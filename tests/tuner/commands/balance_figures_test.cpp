#include "tuner/commands/balance_figures.h"

#include <gtest/gtest.h>

#include "moe/program/timeline_rows.h"
#include "moe/rows/balance.h"
#include "moe/rows/late_rules.h"
#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/costs/rule_time.h"
#include "tuner/planners/planners.h"

namespace tuner::balance_figures_test {
namespace {

std::optional<ReplicaFigures> figures_of(const test::SkewedSituation& skewed,
                                         const moe::Schedule& schedule) {
  const Prediction prediction = predict(skewed.situation, planner_named("sequential"), schedule);
  return replica_figures(
      skewed.situation, schedule, prediction,
      moe::asked_timeline(prediction.program, prediction.timeline, skewed.groups));
}

TEST(BalanceFigures, NothingIsAwayWithoutReplicas) {
  const test::SkewedSituation skewed;
  EXPECT_EQ(figures_of(skewed, {}), std::nullopt);
}

TEST(BalanceFigures, CountWhatARuleMoves) {
  const test::SkewedSituation skewed;
  const Planner& moonep = planner_named("moonep");
  const auto figures = figures_of(skewed, plan_with(moonep, skewed.situation, {}));
  ASSERT_TRUE(figures);
  std::int64_t away = 0, all = 0, replicas = 0;
  for (const moe::LayerRouting& layer : skewed.routing.layers) {
    const std::vector<std::int64_t> rows = moe::expert_tokens(layer);
    for (const auto& of_expert :
         moe::late_plan({moe::LateRule::moonep, 2}, rows, moe::homes_in_order(8, 4), 4)) {
      for (std::size_t i = 0; i < of_expert.size(); ++i) {
        all += of_expert[i].rows;
        if (i > 0) away += of_expert[i].rows;
      }
      replicas += static_cast<std::int64_t>(of_expert.size()) - 1;
    }
  }
  EXPECT_GT(replicas, 0);
  EXPECT_DOUBLE_EQ(figures->away_share, static_cast<double>(away) / static_cast<double>(all));
  EXPECT_DOUBLE_EQ(figures->rule_s,
                   3 * rule_seconds({}, "moonep", counted_bytes(8, skewed.groups)));
  // Of every replica two matrices and two biases go there, and their gradients come home.
  const moe::Model& model = skewed.model;
  const std::int64_t of_expert =
      4 * (2 * model.d_model * model.d_hidden + model.d_model + model.d_hidden);
  EXPECT_EQ(figures->expert_bytes, 2 * replicas * of_expert);
  EXPECT_GT(figures->exposed_experts_s, 0);
}

}  // namespace
}  // namespace tuner::balance_figures_test
