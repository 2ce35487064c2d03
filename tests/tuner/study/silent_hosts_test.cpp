#include "tuner/study/silent_hosts.h"

#include <gmock/gmock.h>

namespace tuner::silent_hosts_test {
namespace {

using testing::HasSubstr;

std::string why(int ranks, const std::string& launcher, double limit_s = 20) {
  return why_hosts_are_silent(ranks, {.command = launcher}, {}, limit_s);
}

TEST(SilentHosts, AreNoneWhereALaunchOfTrueEndsWell) {
  EXPECT_EQ(why(2, "env RANKS={ranks}"), "");
  EXPECT_EQ(why(1, ""), "") << "this process alone";
}

TEST(SilentHosts, AreToldByTheLaunchersCodeOrItsSilence) {
  EXPECT_EQ(why(2, "sh -c 'exit 213'"),
            "`sh -c 'exit 213' true` ended with 213: a host does not answer");
  EXPECT_THAT(why(2, "sh -c 'exec sleep 60'", 0.1), HasSubstr("has not ended within 0 s"));
}

}  // namespace
}  // namespace tuner::silent_hosts_test
