#include "tuner/planners/pipeline/fsmoe_equations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "tests/tuner/planners/fsmoe/drawn_phase.h"

namespace tuner::fsmoe_equations_test {
namespace {

using namespace test;

/// Mixtral of the paper's Table 2 on testbed A: B = 4, L = 1024, k = 2, f = 1.2, M = 4096, H =
/// 14336.
MessageSizes mixtral_sizes() { return message_sizes(2, 1.2, 4, 1024, 4096, 14336, 8); }

TEST(FsmoeEquations, MessageSizesOfMixtralWorkedByHand) {
  const MessageSizes sizes = mixtral_sizes();
  EXPECT_DOUBLE_EQ(sizes.a2a, 9830.4 * 512);  // k f B L = 9830.4 copies
  EXPECT_DOUBLE_EQ(sizes.ag, 9830.4 * 4096);
  EXPECT_DOUBLE_EQ(sizes.exp, 9830.4 * 4096 * 1792);
  EXPECT_DOUBLE_EQ(mixtral_dense_gradients(4096, 8), 5242880);
  EXPECT_DOUBLE_EQ(gpt_dense_gradients(1600, 8), 1280000 + 600 + 1600);
}

TEST(FsmoeEquations, FitsOfTheTestbedsComeNearTheMeasuredTableTwo) {
  // Forward on A, measured in ms: all-to-all 19.5, all-gather 12.3, reduce-scatter 13.7, experts
  // 15.6.
  const ChunkTimes a = chunk_times(testbed_phase(testbed_a(), mixtral_sizes(), 3), 1);
  EXPECT_NEAR(2 * a.a2a, 23.93, 0.01);  // by the printed order of the betas it would be 2.8
  EXPECT_NEAR(a.ag, 9.80, 0.01);
  EXPECT_NEAR(a.rs, 9.33, 0.01);
  EXPECT_NEAR(a.exp, 5.09, 0.01);
  // The all-reduce of backward, 26.45 measured.
  EXPECT_NEAR(seconds_of(testbed_a().ar, 1, mixtral_dense_gradients(4096, 8)), 26.46, 0.01);
}

TEST(FsmoeEquations, BackwardDoublesTheExpertsOnce) {
  const PipelineTask forward = pipeline_task(line(1, 0.5), 6, 2);
  EXPECT_DOUBLE_EQ(forward.startup_s, 2);
  EXPECT_DOUBLE_EQ(forward.volume_s, 6);
  const MoePhase backward{{}, {}, {}, backward_experts(forward), 0};
  EXPECT_DOUBLE_EQ(chunk_times(backward, 2).exp, 2 * (2 + 6.0 / 2));
}

TEST(FsmoeEquations, CasesWorkedByHand) {
  const ChunkTimes experts{1, 0.5, 0.5,
                           4};  // r = 2: Q1, 8 > 2, gradients up to 8 - 2 + 1 = 7 cost nothing
  EXPECT_EQ(fsmoe_case(2, experts, 0), FsmoeCase::experts);
  EXPECT_DOUBLE_EQ(moe_phase_s(2, experts, 0), 2 + 1 + 8);
  EXPECT_DOUBLE_EQ(overlappable_s(2, experts), 7);
  EXPECT_DOUBLE_EQ(moe_phase_s(2, experts, 7), 11);
  EXPECT_EQ(fsmoe_case(2, experts, 8), FsmoeCase::gradients);
  EXPECT_DOUBLE_EQ(moe_phase_s(2, experts, 8), 4 + 8);

  const ChunkTimes travel{3, 1, 1, 1};  // r = 2: Q1, 2 < 6
  EXPECT_EQ(fsmoe_case(2, travel, 0), FsmoeCase::all_to_all);
  EXPECT_DOUBLE_EQ(moe_phase_s(2, travel, 0), 12 + 2);
  EXPECT_DOUBLE_EQ(overlappable_s(2, travel), 2);
  EXPECT_EQ(fsmoe_case(2, travel, 3), FsmoeCase::gradients);
  EXPECT_DOUBLE_EQ(moe_phase_s(2, travel, 3), 12 + 3);

  const ChunkTimes inside{1, 3, 3, 1};  // r = 2: not Q1, 2 < 6
  EXPECT_EQ(fsmoe_case(2, inside, 0), FsmoeCase::inside_nodes);
  EXPECT_DOUBLE_EQ(moe_phase_s(2, inside, 0), 2 + 12);
  EXPECT_DOUBLE_EQ(overlappable_s(2, inside), 12 - 2);
  EXPECT_EQ(fsmoe_case(2, inside, 11), FsmoeCase::gradients);

  const ChunkTimes both{1, 3, 3, 7};  // r = 2: not Q1, 14 > 6
  EXPECT_EQ(fsmoe_case(2, both, 0), FsmoeCase::experts);
  EXPECT_DOUBLE_EQ(moe_phase_s(2, both, 0), 2 + 6 + 14);
}

TEST(FsmoeEquations, WithoutGathersAndGradientsTheyArePipeMoes) {
  // r = 2, t_a2a = 3, t_exp = 4: 2*4 > 2*1*3, so case 2: 2*3 + 2*4.
  // Replay: D 0-3, 3-6; E 3-7, 7-11; C 7-10, 11-14.
  EXPECT_DOUBLE_EQ(moe_phase_s(2, {3, 0, 0, 4}, 0), 14);
  // r = 2, t_a2a = 3, t_exp = 2: 2*2 < 2*1*3, so case 3: 2*2*3.
  // Replay: D 0-3, 3-6; E 3-5, 6-8; C 6-9, 9-12.
  EXPECT_DOUBLE_EQ(moe_phase_s(2, {3, 0, 0, 2}, 0), 12);
  EXPECT_DOUBLE_EQ(moe_phase_s(1, {3, 0, 0, 2}, 0), 8);  // nothing overlaps: the sum
  // t_a2a = 1 + 12 / r, t_exp = 1 + 24 / r. r = 5: 3.4 and 5.8, 5*5.8 = 29 > 27.2, 6.8 + 29 = 35.8;
  // r = 6: 3 and 5, 30 = 2*5*3, not more: case 3, 2*6*3 = 36.
  const MoePhase phase{{1, 12}, {}, {}, {1, 24}, 0};
  EXPECT_DOUBLE_EQ(moe_phase_s(5, phase), 35.8);
  EXPECT_DOUBLE_EQ(moe_phase_s(6, phase), 36);
}

TEST(FsmoeEquations, ExactlyOneClauseHoldsAndItsCaseIsTheLongestOfThoseItWeighs) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const MoePhase phase = draw_phase(random, true);
    const int r = 1 + static_cast<int>(random() % 8);
    const ChunkTimes t = chunk_times(phase, r);
    const auto margins = guard_margins(r, t, phase.gar_s);
    const auto clauses =
        std::count_if(kFsmoeClauses.begin(), kFsmoeClauses.end(), [&](const FsmoeClause& clause) {
          return std::all_of(clause.guards.begin(), clause.guards.end(), [&](int guard) {
            return (margins[static_cast<std::size_t>(std::abs(guard)) - 1] > 0) == (guard > 0);
          });
        });
    EXPECT_EQ(clauses, 1);
    const double seconds = moe_phase_s(r, phase);
    // Whatever else holds, the gradients' case is weighed against one other: more of them never
    // cost less.
    EXPECT_GE(seconds * (1 + 1e-12), case_seconds(FsmoeCase::gradients, r, t, phase.gar_s));
    EXPECT_LE(moe_phase_s(r, t, 0), seconds * (1 + 1e-12));
    EXPECT_NEAR(moe_phase_s(r, t, overlappable_s(r, t)), moe_phase_s(r, t, 0), 1e-9);
  }
}

TEST(FsmoeEquations, NeedAChunk) {
  EXPECT_THROW(chunk_times({}, 0), std::invalid_argument);
  EXPECT_THROW(moe_phase_s(0.5, ChunkTimes{}, 0), std::invalid_argument);
  EXPECT_THROW(overlappable_s(0, ChunkTimes{}), std::invalid_argument);
}

}  // namespace
}  // namespace tuner::fsmoe_equations_test
