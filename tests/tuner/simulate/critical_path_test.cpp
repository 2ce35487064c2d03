#include "db/timeline/critical_path.h"

#include <gmock/gmock.h>

#include "moe/program/timeline_rows.h"
#include "tests/tuner/single_costs.h"
#include "tests/tuner/small_program.h"
#include "tuner/simulate/simulate.h"

namespace tuner::critical_path_test {
namespace {

using namespace test;

struct Walk {
  moe::Program program;
  db::Timeline timeline;
  std::vector<db::PathStep> path;  ///< in the order of time

  Walk(moe::Program of, const moe::Routing& routing, LaunchGaps gaps = {})
      : program(std::move(of)) {
    CostModel model = small_costs();
    model.gaps = gaps;
    const auto costs = single_costs(program, two_nodes(), routing, model, small_cluster());
    timeline = moe::asked_timeline(
        program, run_simulation(program, two_nodes(), costs, model, small_cluster()), two_nodes());
    path = db::critical_path(timeline, db::index_spans(timeline));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const db::PathStep& step : path) {
      result.push_back(db::op_at(timeline, step.at).name);
    }
    return result;
  }
  double seconds() const {
    double sum = 0;
    for (const db::PathStep& step : path) sum += step.seconds;
    return sum;
  }
};

TEST(CriticalPath, OfOneStreamIsAllOfItAndAddsUpToTheDuration) {
  const Walk walk(small_layer().program, small_routing({{1000, 1000}, {1000, 1000}}));
  EXPECT_THAT(walk.names(), testing::ElementsAre("begin", "exchange counts", "permute", "dispatch",
                                                 "experts", "return", "combine"));
  EXPECT_NEAR(walk.seconds(), walk.timeline.info.duration_s, 1e-9);
}

TEST(CriticalPath, LeavesOutWhatRunsBesideIt) {
  auto program = small_layer(true).program;
  for (moe::Op& op : program.ops) {
    if (op.name == "unrelated") op.stream = moe::Stream::intra_node;
  }
  const Walk walk(program, small_routing({{1000, 1000}, {1000, 1000}}));
  EXPECT_THAT(walk.names(), testing::Not(testing::Contains("unrelated")));
  EXPECT_NEAR(walk.seconds(), walk.timeline.info.duration_s, 1e-9);
}

TEST(CriticalPath, GoesOnOnTheRankThatArrivedLast) {
  // Rank 0 computes 1500 rows (3 s), rank 1 500: the return waits for rank 0.
  const Walk walk(small_layer().program, small_routing({{500, 500}, {1000, 0}}));
  const db::PathStep& experts = walk.path[walk.path.size() - 3];
  EXPECT_EQ(db::op_at(walk.timeline, experts.at).name, "experts");
  EXPECT_EQ(db::rank_at(walk.timeline, experts.at), 0);
  EXPECT_NEAR(experts.seconds, 3, 1e-9);
  EXPECT_NEAR(walk.seconds(), walk.timeline.info.duration_s, 1e-6);
}

TEST(CriticalPath, LeavesGapsOut) {
  const Walk walk(small_layer().program, small_routing({{1000, 1000}, {1000, 1000}}),
                  {.launch_s = 0.1});
  EXPECT_LT(walk.seconds(), walk.timeline.info.duration_s - 0.5);
}

}  // namespace
}  // namespace tuner::critical_path_test
