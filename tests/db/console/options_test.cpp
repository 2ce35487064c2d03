#include "db/console/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace db::options::options_test {
namespace {

using testing::HasSubstr;

std::string refusal(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(Options, WholeNumbersAreDigitsWithinTheirRange) {
  EXPECT_EQ(refusal(whole_number(1, 8), "8"), "");
  EXPECT_EQ(refusal(whole_number(1, 8), "9"), "expected an integer from 1 to 8, got \"9\"");
  EXPECT_EQ(refusal(whole_number(0), "-3"), "expected an integer of at least 0, got \"-3\"");
  EXPECT_EQ(refusal(whole_number(0), "9223372036854775807"), "");
  EXPECT_EQ(refusal(whole_number(0), "9223372036854775808"),
            "expected an integer from 0 to 9223372036854775807, got \"9223372036854775808\"");
  for (const char* text :
       {"", "true", "2.9", "2.0", "1e3", "0x10", "4K", "nan", " 1", "1 ", "9223372036854775808"}) {
    EXPECT_THAT(refusal(whole_number(0), text), HasSubstr("expected an integer")) << text;
  }
}

TEST(Options, SecondsAreFinite) {
  EXPECT_EQ(refusal(seconds(), "0.5"), "");
  EXPECT_EQ(refusal(seconds(true), "0"), "");
  for (const char* text : {"0", "-1", "nan", "-nan", "inf", "1e300", "true", "x", ""}) {
    EXPECT_THAT(refusal(seconds(), text), HasSubstr("expected seconds above 0 to 10000000"))
        << text;
  }
}

TEST(Options, RatesAreNoneOrWhatNetworksHave) {
  for (const char* text : {"0", "0.001", "25"}) {
    EXPECT_EQ(refusal(gigabits_per_second(), text), "");
  }
  for (const char* text : {"nan", "1e-300", "-1", "inf", "2e6", "fast"}) {
    EXPECT_THAT(refusal(gigabits_per_second(), text), HasSubstr("expected 0, or Gbit/s")) << text;
  }
}

TEST(Options, SharesAreFromNoneToAll) {
  for (const char* text : {"0", "0.1", "1"}) EXPECT_EQ(refusal(share(), text), "");
  for (const char* text : {"-0.1", "1.01", "nan", "10%", ""}) {
    EXPECT_THAT(refusal(share(), text), HasSubstr("expected a share from 0 to 1")) << text;
  }
}

TEST(Options, SizesBecomeBytes) {
  std::string text = "2G";
  EXPECT_EQ(size_in_bytes()(text), "");
  EXPECT_EQ(text, "2147483648");
  for (const char* wrong : {"0", "-1", "-5K", "9999999999G", "nan", "x", ""}) {
    EXPECT_THAT(refusal(size_in_bytes(), wrong), HasSubstr("expected bytes")) << wrong;
  }
}

TEST(Options, ANameIsAText) {
  EXPECT_EQ(refusal(not_empty(), "first"), "");
  EXPECT_NE(refusal(not_empty(), ""), "");
  EXPECT_NE(refusal(not_empty(), "a\nb"), "");
}

}  // namespace
}  // namespace db::options::options_test
