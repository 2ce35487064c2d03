#include "db/timeline/activity.h"

#include <gtest/gtest.h>

namespace db::activity_test {
namespace {

TEST(Activity, IsTheDatabasesWordWhateverNameAndStreamSuggest) {
  TimelineOp op;
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
    TimelineOp op;
    op.activity = activity_name(activity);
    EXPECT_EQ(activity_of(op), activity);
  }
}

}  // namespace
}  // namespace db::activity_test
