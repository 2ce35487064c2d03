#include "tuner/commands/since.h"

#include <gtest/gtest.h>

namespace tuner::since_test {
namespace {

TEST(Since, IsAnInstantOrAnAge) {
  EXPECT_EQ(parse_since("1970-01-02", 0), 86400);
  EXPECT_EQ(parse_since("1970-01-01 01:30", 0), 5400);
  EXPECT_EQ(parse_since("1970-01-01T00:00:07", 0), 7);
  EXPECT_EQ(parse_since("30m", 10'000), 10'000 - 1800);
  EXPECT_EQ(parse_since("2h", 10'000), 10'000 - 7200);
  EXPECT_EQ(parse_since("7d", 1e6), 1e6 - 7 * 86400);
  for (const char* text : {"", "yesterday", "7", "-7d", "7dd", "1970-13-01", "1970-01-02 x", "m"}) {
    EXPECT_FALSE(parse_since(text, 0)) << text;
  }
}

TEST(Since, DurationsHaveAUnit) {
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  for (const char* text : {"", "h", "2x", "-1h", "nan", "inf", "1 h", "7"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

}  // namespace
}  // namespace tuner::since_test
