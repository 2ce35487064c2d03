#include "viewer/model/activity.h"

#include <gtest/gtest.h>

namespace viewer::activity_test {
namespace {

TEST(Activity, IsTheDatabasesWordWhateverNameAndStreamSuggest) {
  db::TimelineOp op;
  op.name = op.kind = "all_to_all";
  op.stream = "compute";
  op.activity = "communication";
  EXPECT_EQ(activity_of(op), Activity::communication);
  op.activity = "computation";
  EXPECT_EQ(activity_of(op), Activity::computation);
  op.activity = "";
  EXPECT_EQ(activity_of(op), Activity::unknown) << "nothing is guessed";
}

TEST(Activity, NamesAreTheDatabasesWords) {
  for (const Activity activity : {Activity::computation, Activity::communication, Activity::copy,
                                  Activity::host, Activity::unknown}) {
    db::TimelineOp op;
    op.activity = activity_name(activity);
    EXPECT_EQ(activity_of(op), activity);
  }
}

}  // namespace
}  // namespace viewer::activity_test
