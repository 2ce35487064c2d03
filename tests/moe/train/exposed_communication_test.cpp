#include "moe/train/exposed_communication.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::exposed_communication_test {
namespace {

TEST(ExposedCommunication, IsWhatNoComputationCovers) {
  const Program program = build_iteration(test::small_model(DType::f32), make_groups(2, 2), 0);
  const auto first = [&](Activity activity) {
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      if (facts_of(program.ops[i]).activity == activity) return static_cast<int>(i);
    }
    throw std::logic_error("no such op");
  };
  IterationResult result;
  result.begin_s = 100;
  result.end_s = 110;
  result.spans = {{first(Activity::computation), 101, 3}, {first(Activity::communication), 103, 4}};
  EXPECT_DOUBLE_EQ(exposed_communication_s(program, result), 3);
  result.spans.push_back({first(Activity::computation), 106, 2});
  EXPECT_DOUBLE_EQ(exposed_communication_s(program, result), 2);
}

}  // namespace
}  // namespace moe::exposed_communication_test
