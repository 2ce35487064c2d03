#include "tuner/planners/pipemoe/pipemoe_equations.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tuner {
namespace {

TEST(PipeMoeEquations, CasesWorkedByHand) {
  // r = 2, t_a2a = 3, t_exp = 4: 2*4 > 2*1*3, so case 2: 2*3 + 2*4.
  // Replay: D 0-3, 3-6; E 3-7, 7-11; C 7-10, 11-14.
  EXPECT_DOUBLE_EQ(pipelined_layer_s(2, 3, 4), 14);
  // r = 2, t_a2a = 3, t_exp = 2: 2*2 < 2*1*3, so case 3: 2*2*3.
  // Replay: D 0-3, 3-6; E 3-5, 6-8; C 6-9, 9-12.
  EXPECT_DOUBLE_EQ(pipelined_layer_s(2, 3, 2), 12);
  EXPECT_DOUBLE_EQ(pipelined_layer_s(1, 3, 2), 8);  // nothing overlaps: the sum
}

TEST(PipeMoeEquations, CasesChangeWhereExpertsNoLongerCoverTheExchange) {
  // t_a2a = 1 + 12 / r, t_exp = 1 + 24 / r (one product):
  // r = 5: t_a2a = 3.4, t_exp = 5.8: 5*5.8 = 29 > 27.2, 6.8 + 29 = 35.8;
  // r = 6: t_a2a = 3, t_exp = 5: 30 = 2*5*3, not more: case 3, 2*6*3 = 36.
  LinearFit line;
  line.alpha_s = 1;
  line.beta_s_per_unit = 1;
  EXPECT_DOUBLE_EQ(pipelined_layer_s(5, line, 12, line, 24, 1), 35.8);
  EXPECT_DOUBLE_EQ(pipelined_layer_s(6, line, 12, line, 24, 1), 36);
}

TEST(PipeMoeEquations, AlphaCountsOncePerProduct) {
  LinearFit nothing, line;
  line.alpha_s = 2;
  EXPECT_DOUBLE_EQ(pipelined_layer_s(3, nothing, 1, line, 1, 2), 3 * 2 * 2);
}

TEST(PipeMoeEquations, NeedAChunk) {
  EXPECT_THROW(pipelined_layer_s(0, 3, 2), std::invalid_argument);
  EXPECT_THROW(pipelined_layer_s(0, LinearFit{}, 1, LinearFit{}, 1, 1), std::invalid_argument);
}

}  // namespace
}  // namespace tuner
