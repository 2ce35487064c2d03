// What a simulation shows of clipping: updates wait for the norm of all gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/tuner/small_program.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner::simulate_clipping_test {
namespace {

struct Ends {
  double first_update_s = std::numeric_limits<double>::max();
  double last_gradient_s = 0;  ///< when the last all-reduce of gradients ends
  double whole_s = 0;
};

/// Gradients are reduced beside computation, on two nodes of a rank each.
Ends simulated(const moe::Layout& layout, bool clips) {
  moe::Model model;
  model.name = "small";
  model.sequence_length = 64;
  model.d_model = 64;
  model.d_hidden = 128;
  model.blocks = 4;
  model.moe_every = 0;
  model.global_batch = 8;
  if (clips) model.clip_norm = 1;
  std::vector<int> nodes;
  for (int rank = 0; rank < moe::rank_count(layout); ++rank) nodes.push_back(rank);
  const moe::Groups groups = moe::make_groups(layout, nodes);
  moe::Schedule schedule{"beside", {}};
  schedule.decisions.push_back(
      moe::StreamAssignment{std::string(moe::AllReduce::facts.name), moe::Stream::inter_node});
  const moe::Program program = moe::apply(moe::build_iteration(model, groups, 0), schedule);
  const CostModel costs = test::plain_costs();
  Cluster cluster = test::small_cluster();
  cluster.nodes = groups.ranks;
  const moe::Timeline timeline = simulate(program, groups, {}, costs, cluster);
  Ends ends;
  for (const moe::OpSpan& span : timeline.ranks.at(0)) {
    const moe::Op& op = program.ops[span.op];
    const double end = span.start_s + span.duration_s;
    ends.whole_s = std::max(ends.whole_s, end);
    if (moe::reduces_gradients(op)) ends.last_gradient_s = std::max(ends.last_gradient_s, end);
    if (std::holds_alternative<moe::AdamStep>(op.kind)) {
      ends.first_update_s = std::min(ends.first_update_s, span.start_s);
    }
  }
  return ends;
}

TEST(SimulatedClipping, MakesUpdatesWaitForTheNormAfterTheLastGradient) {
  const moe::Layout layout{2, 1, 1};
  const Ends plain = simulated(layout, false), clipped = simulated(layout, true);
  EXPECT_GT(clipped.first_update_s, plain.first_update_s);
  EXPECT_GT(clipped.first_update_s, clipped.last_gradient_s);
  EXPECT_GT(clipped.whole_s, plain.whole_s);
}

TEST(SimulatedClipping, MeetsTheRanksOfAllStages) {
  const Ends clipped = simulated({2, 1, 1, 1, 2}, true);
  EXPECT_GT(clipped.first_update_s, clipped.last_gradient_s);
}

}  // namespace
}  // namespace tuner::simulate_clipping_test
