#include "db/console/shown_text.h"

#include <gtest/gtest.h>

namespace db::shown_text_test {
namespace {

TEST(ShownText, WhatATerminalActsOnIsEscaped) {
  EXPECT_EQ(escaped("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(escaped("a\nb\tc\r\x7f"), "a\\nb\\tc\\x0d\\x7f");
  EXPECT_EQ(escaped("a\nb\x07", true), "a\nb\\x07");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m"),
            "\\xc2\\x9b31m");  // CSI in one character
  EXPECT_EQ(escaped(std::string("\0", 1)), "\\x00");
}

TEST(ShownText, WhatIsNotUtf8IsEscapedAndTheRestStays) {
  EXPECT_EQ(escaped("Zo\xc3\xab \xe2\x82\xac \xf0\x9f\x98\x80"),
            "Zo\xc3\xab \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(escaped("\xff\xe2\x82"), "\\xff\\xe2\\x82");
  EXPECT_EQ(escaped("\xc0\x8a"), "\\xc0\\x8a");  // a line break, too long
}

TEST(ShownText, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(shortened("ab\ncd"), "ab\\ncd");
  EXPECT_EQ(shortened("12345678", 8), "12345678");
  EXPECT_EQ(shortened("123456789", 8), "12345...");
  EXPECT_EQ(shortened("1234\xC3\xA4"
                      "6789",
                      8),
            "1234...");
  EXPECT_EQ(shortened(std::string(100000, 'x'), 8), "xxxxx...");
}

TEST(ShownText, OneIsNoneOfSeveral) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "study", "studies"), "1 study");
  EXPECT_EQ(counted(2, "study", "studies"), "2 studies");
}

TEST(ShownText, RangesHaveAnUpperEndOrNone) {
  EXPECT_EQ(integer_range(1, 8), "an integer from 1 to 8");
  EXPECT_EQ(integer_range(1, kAnyInteger), "an integer of at least 1");
}

}  // namespace
}  // namespace db::shown_text_test
