#include "tuner/simulate/critical_path.h"

#include <gmock/gmock.h>

#include "tests/tuner/single_costs.h"
#include "tests/tuner/small_program.h"
#include "tuner/simulate/simulate.h"

namespace tuner::critical_path_test {
namespace {

using namespace test;

struct Walk {
  moe::Program program;
  moe::Timeline timeline;
  std::vector<PathStep> path;

  Walk(moe::Program of, const moe::Routing& routing, LaunchGaps gaps = {})
      : program(std::move(of)) {
    CostModel model = small_costs();
    model.gaps = gaps;
    const auto costs = single_costs(program, two_nodes(), routing, model, small_cluster());
    timeline = run_simulation(program, two_nodes(), costs, model, small_cluster());
    path = critical_path(program, costs, timeline);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const PathStep& step : path) {
      result.push_back(program.ops[static_cast<std::size_t>(step.op)].name);
    }
    return result;
  }
  double seconds() const {
    double sum = 0;
    for (const PathStep& step : path) sum += step.seconds;
    return sum;
  }
};

TEST(CriticalPath, OfOneStreamIsAllOfItAndAddsUpToTheDuration) {
  const Walk walk(small_layer().program, small_routing({{1000, 1000}, {1000, 1000}}));
  EXPECT_THAT(walk.names(), testing::ElementsAre("combine", "return", "experts", "dispatch",
                                                 "permute", "exchange counts", "begin"));
  EXPECT_NEAR(walk.seconds(), walk.timeline.duration_s, 1e-9);
}

TEST(CriticalPath, LeavesOutWhatRunsBesideIt) {
  auto program = small_layer(true).program;
  for (moe::Op& op : program.ops) {
    if (op.name == "unrelated") op.stream = moe::Stream::intra_node;
  }
  const Walk walk(program, small_routing({{1000, 1000}, {1000, 1000}}));
  EXPECT_THAT(walk.names(), testing::Not(testing::Contains("unrelated")));
  EXPECT_NEAR(walk.seconds(), walk.timeline.duration_s, 1e-9);
}

TEST(CriticalPath, GoesOnOnTheRankThatArrivedLast) {
  // Rank 0 computes 1500 rows (3 s), rank 1 500: the return waits for rank 0.
  const Walk walk(small_layer().program, small_routing({{500, 500}, {1000, 0}}));
  EXPECT_EQ(walk.names()[2], "experts");
  EXPECT_EQ(walk.path[2].rank, 0);
  EXPECT_NEAR(walk.path[2].seconds, 3, 1e-9);
  EXPECT_NEAR(walk.seconds(), walk.timeline.duration_s, 1e-6);
}

TEST(CriticalPath, LeavesGapsOut) {
  const Walk walk(small_layer().program, small_routing({{1000, 1000}, {1000, 1000}}),
                  {.launch_s = 0.1});
  EXPECT_LT(walk.seconds(), walk.timeline.duration_s - 0.5);
}

}  // namespace
}  // namespace tuner::critical_path_test
