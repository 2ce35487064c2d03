#include "tests/tuner/planners/mpmoe/mpmoe_equations.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tuner::mpmoe::mpmoe_equations_test {
namespace {

TEST(MpmoeEquations, CountElementsAsWorkedByHand) {
  const Sizes s{100, 8, 32, 4};
  EXPECT_DOUBLE_EQ(model_states(s), 4 * (32 + 512));
  EXPECT_DOUBLE_EQ(activations(s), 3200 + 3200);
  EXPECT_DOUBLE_EQ(buffers(s), 800 + 3200);
  EXPECT_DOUBLE_EQ(pipelined(s), 6400);
  EXPECT_DOUBLE_EQ(saved(s, 1), 0);
  EXPECT_DOUBLE_EQ(saved(s, 2), 1600);        // half of T_M
  EXPECT_DOUBLE_EQ(saved(s, 4), 800 + 2400);  // half of T_DI and T_DO, three quarters of T_M
  EXPECT_DOUBLE_EQ(saved(s, 8), 1200 + 2800);
  EXPECT_DOUBLE_EQ(saving_ratio(s, 4), 6400 / (2176 + 12800.0));
  EXPECT_THROW(saved(s, 0), std::invalid_argument);
}

}  // namespace
}  // namespace tuner::mpmoe::mpmoe_equations_test
