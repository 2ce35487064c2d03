#include "db/console/size.h"

#include <gtest/gtest.h>

namespace db::size_test {
namespace {

TEST(Size, TakesLettersForPowersOf1024) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("512"), 512);
  EXPECT_EQ(parse_size("256K"), 256 * 1024);
  EXPECT_EQ(parse_size("1.5m"), 3 * 512 * 1024);
  EXPECT_EQ(parse_size("2G"), std::int64_t{2} << 30);
  EXPECT_EQ(parse_size("1T"), std::int64_t{1} << 40);
}

TEST(Size, RefusesWhatIsNoWholeNumberOrDoesNotFit) {
  for (const char* text : {"", "K", "-1", "1X", "1KK", "1 K", "0.3", "nan", "inf", "1e3",
                           "9999999999G", "9223372036854775808", "8388608T"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace db::size_test
