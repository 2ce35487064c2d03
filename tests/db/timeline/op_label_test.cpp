#include "db/timeline/op_label.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace db::op_label_test {
namespace {

TEST(OpLabel, NamesTheChunkAndTheShortOneLeavesTheKindOut) {
  TimelineOp op;
  op.kind = "all_to_all";
  op.name = "all_to_all dispatch";
  op.chunk = 1;
  op.chunks = 4;
  EXPECT_EQ(op_label(op), "all_to_all dispatch 2/4");
  EXPECT_EQ(short_op_label(op), "dispatch 2/4");
}

TEST(OpLabel, TheShortestOfAnExchangeStillSaysItsDirection) {
  TimelineOp op;
  op.kind = "all_to_all";
  op.name = "all_to_all gradient combine";
  op.chunk = 1;
  op.chunks = 3;
  const std::vector<std::string> labels = {"all_to_all gradient combine 2/3",
                                           "gradient combine 2/3",
                                           "combine 2/3",
                                           "comb 2/3",
                                           "C 2/3",
                                           "C"};
  EXPECT_EQ(op_labels(op), labels);
  op.kind = "combine";  // the sum of what came back, which is computed
  op.name = "combine";
  EXPECT_EQ(op_labels(op), (std::vector<std::string>{"combine 2/3", "combine 2/3", "2/3"}));
}

TEST(OpLabel, AnOpWithoutNameOrKindIsCalledByItsPlace) {
  TimelineOp op;
  op.op = 17;
  EXPECT_EQ(op_label(op), "op 17");
  EXPECT_EQ(short_op_label(op), "op 17");
  EXPECT_EQ(legend_kind(op), "no kind");
  op.kind = "gelu";
  EXPECT_EQ(op_label(op), "gelu");
  op.name = " named by a trace";
  op.kind = "";
  EXPECT_EQ(short_op_label(op), " named by a trace");
}

TEST(OpLabel, GradientsBelongToTheirOp) {
  EXPECT_EQ(base_kind("expert_linear_weight_gradient"), "expert_linear");
  EXPECT_EQ(base_kind("gelu_gradient"), "gelu");
  EXPECT_EQ(base_kind("gate"), "gate");
}

TEST(OpLabel, TheLastChunkThatAnIntCanNumberIsNamed) {
  TimelineOp op;
  op.name = "dispatch";
  op.chunk = 2147483647;
  op.chunks = 2147483647;
  EXPECT_EQ(op_label(op), "dispatch 2147483648/2147483647");
}

}  // namespace
}  // namespace db::op_label_test
