// A tied head with pipeline stages: gradients of the token table pass between the first and the
// last stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "moe/model/iteration.h"
#include "tests/tuner/small_program.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/simulate/simulate.h"

namespace tuner::tied_stages_test {
namespace {

TEST(TiedStages, ReduceTheirTablesInTheFirstAndTheLastStageAlone) {
  moe::Model model;
  model.name = "tied";
  model.head = moe::Head::tied;
  model.blocks = 3;
  model.moe_every = 1;
  model.experts = 8;
  model.sequence_length = 64;
  model.global_batch = 8;
  std::vector<int> nodes;
  for (int rank = 0; rank < 24; ++rank) nodes.push_back(rank / 4);
  const moe::Groups groups = moe::make_groups(moe::Layout{1, 8, 1, 1, 3}, nodes);
  const moe::Program program = moe::build_iteration(model, groups, 0);
  const moe::Routing routing = make_routing("uniform", program, groups, 1);
  const Cluster cluster = test::small_cluster();
  CostModel costs = test::plain_costs();
  const auto with = [&](const Folding& folding) {
    return program_costs(program, groups, routing, costs, cluster, folding);
  };
  const ProgramCosts single = with({100, 10000, 100}), folded = with({0, 0, 0});
  ASSERT_LT(folded.classes.rank_of.size(), single.classes.rank_of.size());
  const moe::Timeline timeline = simulate(program, single, costs, cluster);
  EXPECT_NEAR(simulate(program, folded, costs, cluster).duration_s, timeline.duration_s,
              1e-6 * timeline.duration_s);
  const auto op = std::ranges::find_if(program.ops, [](const moe::Op& one) {
    return std::holds_alternative<moe::ReduceTied>(one.kind);
  });
  ASSERT_NE(op, program.ops.end());
  const auto number = static_cast<int>(op - program.ops.begin());
  const std::int64_t bytes = model.vocabulary * model.d_model * 4;
  for (int rank = 0; rank < groups.ranks; ++rank) {
    const auto& spans = moe::spans_of(timeline, rank);
    const auto span = std::ranges::find(spans, number, &moe::OpSpan::op);
    if (moe::stage_of(groups, rank) == 1) {
      EXPECT_EQ(span, spans.end());
    } else {
      ASSERT_NE(span, spans.end());
      const double least_s = static_cast<double>(bytes) / cluster.inter_node.bandwidth_bytes_per_s;
      EXPECT_GE(span->duration_s, least_s * (1 - 1e-9));
    }
  }
}

}  // namespace
}  // namespace tuner::tied_stages_test
