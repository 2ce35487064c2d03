#include "moe/train/exposed_communication.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::exposed_communication_test {
namespace {

int first_op(const Program& program, const auto& is_wanted) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (is_wanted(program.ops[i])) return static_cast<int>(i);
  }
  throw std::logic_error("no such op");
}

bool computes(const Op& op) { return facts_of(op).activity == Activity::computation; }

TEST(ExposedCommunication, IsWhatNoComputationCoversWithoutWaitingForARankThatIsLate) {
  const Groups groups = make_groups(2, 2);
  const Program program = build_iteration(test::small_model(DType::f32), groups, 0);
  const int computation = first_op(program, computes);
  const int exchange = first_op(program, [](const Op& op) { return is_communication(op); });
  Timeline timeline;
  timeline.duration_s = 10;
  timeline.ranks = {{{computation, 1, 3}, {exchange, 3, 4}}, {{exchange, 6, 1}}};
  // Rank 0: 4 to 7 is exposed, until 6 it waits for rank 1, which waits for nobody.
  ExposedCommunication mean = exposed_communication(program, timeline, groups);
  EXPECT_DOUBLE_EQ(mean.all_s, (3 + 1) / 2.0);
  EXPECT_DOUBLE_EQ(mean.waiting_s, 2 / 2.0);
  EXPECT_DOUBLE_EQ(mean.bubble_s, 0);
  timeline.ranks[0].push_back({computation, 5, 3});
  mean = exposed_communication(program, timeline, groups);
  EXPECT_DOUBLE_EQ(mean.all_s, (1 + 1) / 2.0);
  EXPECT_DOUBLE_EQ(mean.waiting_s, 1 / 2.0);
}

TEST(ExposedCommunication, WaitingForAnotherPipelineStageIsABubble) {
  const Groups groups = make_groups(parse_layout("pp=2", 2));
  const Program program = build_iteration(test::small_model(DType::f32), groups, 0);
  const int passes =
      first_op(program, [](const Op& op) { return std::holds_alternative<PassOn>(op.kind); });
  Timeline timeline;
  timeline.duration_s = 10;
  timeline.ranks = {{{passes, 5, 1}}, {{passes, 1, 5}}};
  const ExposedCommunication mean = exposed_communication(program, timeline, groups);
  EXPECT_DOUBLE_EQ(mean.all_s, (1 + 5) / 2.0);
  EXPECT_DOUBLE_EQ(mean.waiting_s, 0);
  EXPECT_DOUBLE_EQ(mean.bubble_s, 4 / 2.0);
}

}  // namespace
}  // namespace moe::exposed_communication_test
