#include "tuner/simulate/memory_use.h"

#include <gtest/gtest.h>

#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/simulate/simulate.h"

namespace tuner::memory_use_test {
namespace {

using namespace test;

std::vector<MemoryUse> uses_of(const moe::Program& program, const moe::Routing& routing, int rank,
                               const moe::Timeline& timeline) {
  const moe::StageProgram stage = moe::stage_program(program, 0);
  return memory_over_time(stage.program, stage.op_of,
                          moe::bind(program, routing, two_nodes(), rank),
                          timeline.ranks[static_cast<std::size_t>(rank)]);
}

TEST(MemoryOverTime, HoldsAnActivationFromItsFirstOpToItsLast) {
  const auto layer = small_layer();
  const moe::Routing routing = small_routing({{512, 512}, {512, 512}});
  const auto timeline =
      simulate(layer.program, two_nodes(), routing, small_costs(), small_cluster());
  const auto uses = uses_of(layer.program, routing, 0, timeline);
  const auto at = [&](double time_s) {
    std::int64_t bytes = 0;
    for (const MemoryUse& use : uses) {
      if (use.time_s <= time_s) bytes = use.bytes;
    }
    return bytes;
  };
  constexpr std::int64_t row = kColumns * 4, rows = 1024 * row;
  // 1024 rows leave and arrive: permute 0 to 1 s, dispatch to 1.512, experts to 3.56, return to
  // 4.07.
  EXPECT_GE(at(0.5), rows) << "sent";
  EXPECT_LT(at(0.5), 2 * rows);
  EXPECT_GE(at(1.2), 2 * rows) << "sent and received";
  EXPECT_GE(at(2.5), 2 * rows) << "received and produced";
  EXPECT_LT(at(2.5), 3 * rows);
  EXPECT_LT(at(100), rows) << "nothing routed is left";
  for (std::size_t i = 1; i < uses.size(); ++i) EXPECT_LT(uses[i - 1].time_s, uses[i].time_s);
  EXPECT_EQ(uses.front().time_s, 0);

  const MemoryUse peak = peak_of(uses);
  EXPECT_EQ(at(peak.time_s), peak.bytes);
  for (const MemoryUse& use : uses) EXPECT_LE(use.bytes, peak.bytes);
  EXPECT_EQ(peak_of({}).bytes, 0);
}

TEST(MemoryOverTime, IsNeverMoreThanWhatIsPlanned) {
  moe::Model model;
  model.name = "memory";
  model.sequence_length = 16;
  model.d_model = 32;
  model.d_hidden = 64;
  model.blocks = 2;
  model.moe_every = 1;
  model.experts = 4;
  model.global_batch = 4;
  const moe::Groups groups = two_nodes();
  const moe::Program whole = moe::build_iteration(model, groups, 0);
  for (const int chunks : {1, 2, 4}) {
    const moe::Program program =
        moe::apply(whole, pipeline_schedule(whole, "tutel", {chunks, chunks}));
    moe::Routing routing;
    for (int block = 0; block < 2; ++block) {
      routing.layers.push_back(moe::zipf_routing(block, 2, 4, 32, 1, 7));
    }
    const auto timeline = simulate(program, groups, routing, plain_costs(), small_cluster());
    for (int rank = 0; rank < 2; ++rank) {
      const std::int64_t planned =
          moe::planned_peak_bytes(program, moe::bind(program, routing, groups, rank));
      const std::int64_t peak = peak_of(uses_of(program, routing, rank, timeline)).bytes;
      EXPECT_LE(peak, planned) << chunks << " chunks";
      EXPECT_GE(peak, planned / 2) << chunks << " chunks";
    }
  }
}

}  // namespace
}  // namespace tuner::memory_use_test
