#include "db/console/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace db::progress_test {
namespace {

std::string said(const std::function<void()>& work) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  work();
  return testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
}

TEST(Progress, SaysHowFarATaskIsAndHowMuchTimeIsLeft) {
  const std::string text = said([] {
    Progress progress("simulation of 8 ranks", 10, 0);
    progress.at(5);
  });
  EXPECT_THAT(text, testing::HasSubstr("simulation of 8 ranks: 50% after 0 s, about 0 s left"));
}

TEST(Progress, KnowsNoTimeLeftBeforeAnythingIsDone) {
  const std::string text = said([] {
    Progress progress("plans", 10, 0);
    progress.at(0);
  });
  EXPECT_THAT(text, testing::HasSubstr("plans: 0 s so far"));
}

TEST(Progress, IsSilentAboutShortTasks) {
  EXPECT_EQ(said([] {
              Progress progress("short", 10);
              progress.at(5);
            }),
            "");
}

}  // namespace
}  // namespace db::progress_test
