#include "moe/passes/op_edits.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace moe::test::op_edits_test {
namespace {

std::vector<Op> ops_of(const std::string& names) {
  std::vector<Op> ops;
  for (const char name : names) ops.emplace_back().name = name;
  return ops;
}

std::string names_of(const std::vector<Op>& ops) {
  std::string names;
  for (const Op& op : ops) names += op.name;
  return names;
}

TEST(OpEdits, MakeAllChangesAtThePlacesThatOpsHadBefore) {
  std::vector<Op> ops = ops_of("abcd");
  OpEdits edits(ops);
  const Op taken = edits.take(1);
  edits.put_before(1, ops_of("12"));
  edits.put_before(3, {taken});
  edits.put_behind(3, ops_of("34"));
  EXPECT_TRUE(edits.is_taken(1));
  EXPECT_FALSE(edits.is_taken(0));
  edits.make();
  EXPECT_EQ(names_of(ops), "a12cbd34");
}

TEST(OpEdits, PutWhatComesLaterNearerToTheOp) {
  std::vector<Op> ops = ops_of("ab");
  OpEdits edits(ops);
  edits.put_before(1, ops_of("1"));
  edits.put_before(1, ops_of("2"));
  edits.put_behind(0, ops_of("3"));
  edits.put_behind(0, ops_of("4"));
  edits.make();
  EXPECT_EQ(names_of(ops), "a4312b");
}

TEST(OpEdits, PutBeforeTheEndWhatIsToBeLast) {
  std::vector<Op> ops = ops_of("ab");
  OpEdits edits(ops);
  edits.put_before(2, ops_of("2"));
  edits.put_behind(1, ops_of("1"));
  edits.make();
  EXPECT_EQ(names_of(ops), "ab12");
}

TEST(OpEdits, RefusePlacesThatTheListHasNot) {
  std::vector<Op> ops = ops_of("ab");
  OpEdits edits(ops);
  EXPECT_THROW(edits.take(2), std::out_of_range);
  EXPECT_THROW(edits.put_before(3, ops_of("1")), std::out_of_range);
  EXPECT_THROW(edits.put_behind(2, ops_of("1")), std::out_of_range);
  edits.make();
  EXPECT_EQ(names_of(ops), "ab");
}

}  // namespace
}  // namespace moe::test::op_edits_test
