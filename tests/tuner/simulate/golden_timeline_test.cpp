#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "db/timeline/summary.h"
#include "db/timeline/timeline_text.h"
#include "moe/passes/schedule.h"
#include "moe/program/timeline_rows.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/simulate/simulate.h"

namespace tuner::golden_timeline_test {
namespace {

using namespace test;

/// Compares with tests/golden/<name>.txt; MOELAB_UPDATE_GOLDEN=1 writes it anew, to be read and
/// committed.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(MOELAB_SOURCE_DIR) + "/tests/golden/" + name + ".txt";
  if (std::getenv("MOELAB_UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

const moe::Routing kEven = small_routing({{1000, 1000}, {1000, 1000}});
const moe::Routing kUneven = small_routing({{2000, 1000}, {1000, 0}});

std::string simulated(moe::Schedule schedule, const moe::Routing& routing, CostModel costs) {
  const auto layer = small_layer(true);
  const auto program = moe::apply(layer.program, schedule);
  return db::timeline_text(moe::asked_timeline(
      program, simulate(program, two_nodes(), routing, costs, small_cluster()), two_nodes()));
}

TEST(GoldenTimeline, Sequential) {
  expect_golden("timeline_sequential", simulated({}, kEven, small_costs()));
}

TEST(GoldenTimeline, PipelineOfTwoChunks) {
  expect_golden("timeline_two_chunks",
                simulated(pipeline_schedule(small_layer(true).program, "tutel", {2, 1}), kEven,
                          small_costs()));
}

TEST(GoldenTimeline, UnevenRoutingWithInterference) {
  auto costs = small_costs();
  set_speed(costs.interference, "computation_beside_communication", 0.5);
  set_speed(costs.interference, "communication_beside_computation", 0.8);
  costs.gaps.launch_s = 0.002;
  costs.fits["all_to_all/inter_node"].alpha_s = 0.01;
  costs.fits["all_to_all/inter_node"].beta_s_per_unit = 1.25e-6;
  expect_golden(
      "timeline_uneven_three_chunks",
      simulated(pipeline_schedule(small_layer(true).program, "pipemoe", {3, 1}), kUneven, costs));
}

TEST(GoldenTimeline, SaysHowMuchCommunicationIsCovered) {
  const auto layer = small_layer(true);
  const auto program = moe::apply(
      layer.program, {"", {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}});
  const db::Timeline timeline = moe::asked_timeline(
      program, simulate(program, two_nodes(), kEven, small_costs(), small_cluster()), two_nodes());
  // Dispatch 1 s bare, return 1 s under the unrelated op, the exchange of counts under the permute.
  const db::RankStatistics mean = db::summarize(timeline, timeline.extent).mean;
  EXPECT_NEAR(mean.communication_s, 2 + kExchange_s, 1e-9);
  EXPECT_NEAR(mean.covered_s(), 1, 1e-9);
  EXPECT_NEAR(mean.exposed_s, 1 + kExchange_s, 1e-9);
  EXPECT_NEAR(mean.computation_s, 1 + 4 + 4 + 0.5, 1e-9);
}

}  // namespace
}  // namespace tuner::golden_timeline_test
