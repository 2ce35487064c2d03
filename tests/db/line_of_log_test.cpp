#include "db/line_of_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace db {
namespace {

using ::testing::ElementsAre;

TEST(LineOfLog, CellsInQuotesHoldCommasAndQuotes) {
  EXPECT_THAT(csv_cells("a,,\"b,c\",\"d\"\"e\"\r"), ElementsAre("a", "", "b,c", "d\"e"));
  EXPECT_THAT(csv_cells("\"\"\"\",\"\""), ElementsAre("\"", ""));
  EXPECT_THAT(csv_cells(""), ElementsAre(""));
}

TEST(LineOfLog, NumbersAreWholeWords) {
  EXPECT_EQ(number_in("-1.5"), -1.5);
  for (const char* none : {"", "8K", "nan", "inf", "1e999", " 8"}) {
    EXPECT_EQ(number_in(none), std::nullopt) << none;
  }
  EXPECT_EQ(whole_number_in("8.0", 8), 8);
  for (const char* none : {"-1", "9", "7.5", "x"}) {
    EXPECT_EQ(whole_number_in(none, 8), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace db
