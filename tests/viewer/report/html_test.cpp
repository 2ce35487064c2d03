#include "viewer/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace viewer::html_test {
namespace {

using ::testing::HasSubstr;

TEST(Html, EscapesWhatMeansSomething) {
  EXPECT_EQ(html_escaped("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
}

TEST(Base64, IsThatOfTheStandardsExamples) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Html, CellsOfATableSayTheirColumnButForTheFirst) {
  constexpr std::array kColumns = {"setup", "time"};
  const std::string table = html_table(kColumns, {{{"a < b", "1 ms"}, true}, {{"c", ""}, false}});
  EXPECT_THAT(table, HasSubstr("<th>setup</th><th>time</th>"));
  EXPECT_THAT(table, HasSubstr("<tr class=\"best\"><td>a &lt; b</td><td data-name=\"time\">1 ms"));
  EXPECT_THAT(table, HasSubstr("<tr><td>c</td><td data-name=\"time\"></td></tr>"));
}

}  // namespace
}  // namespace viewer::html_test
