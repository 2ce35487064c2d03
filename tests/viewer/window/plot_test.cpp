#include "viewer/window/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/viewer/drawn.h"
#include "tests/viewer/headless.h"
#include "viewer/window/heat_map.h"

namespace viewer::plot_test {
namespace {

using ::testing::Contains;
using ::testing::Not;

void inside_window(Headless& headless, const std::function<void()>& draw) {
  headless.frame([&] {
    ImGui::Begin("plot");
    draw();
    ImGui::End();
  });
}

TEST(Plot, ElidedTextFitsAndWholeTextStaysWhole) {
  Headless headless;
  const ImFont& font = *headless.fonts.text;
  const std::string text = "all_to_all dispatch 2/4";
  EXPECT_EQ(elided(font, text, 1000), text);
  for (float width = 0; width < 200; width += 3) {
    EXPECT_LE(text_width(font, elided(font, text, width)), width);
  }
  EXPECT_EQ(elided(font, text, 10), "");
}

TEST(Plot, LinesAreAsWideAsTheScaleAsksFor) {
  for (const float scale : {1.0F, 2.0F, 3.0F}) {
    Headless headless(scale);
    inside_window(headless, [] {
      draw_line(*ImGui::GetForegroundDrawList(), {100, 10}, {100, 200}, to_u32(theme::kWarning));
    });
    const std::vector<Stretch> drawn = drawn_columns(theme::kWarning);
    ASSERT_EQ(drawn.size(), 1U) << scale;
    // ImGui draws lines with a fringe of half a pixel, or a pixel, at either side.
    EXPECT_NEAR(drawn[0].second - drawn[0].first, scale, 2.1) << scale;
    EXPECT_NEAR((drawn[0].first + drawn[0].second) / 2, scale == 2 ? 101 : 100.5, 0.01) << scale;
    EXPECT_EQ(line_px(2), 2 * scale);
    EXPECT_EQ(scaled_px(3), 3 * scale);
  }
}

TEST(Plot, LinesOfAnyScaleAreWholePixelsWideAndOtherLengthsAreExact) {
  for (const float scale : {0.75F, 1.25F, 1.5F}) {
    const Headless headless(scale);
    EXPECT_EQ(line_px(), std::max(1.0F, std::round(scale))) << scale;
    EXPECT_NEAR(scaled_px(8), 8 * scale, 0.01) << scale;
  }
}

// The stretches of x that the line covers in a chart 1000 px wide.
class LineTest : public ::testing::Test {
 protected:
  std::vector<Stretch> line(const std::vector<double>& y) {
    Series series{"loss", theme::kAccent, {}, y, false};
    for (std::size_t i = 0; i < y.size(); ++i) series.x.push_back(static_cast<double>(i));
    LineChart chart;
    chart.title = "Loss";
    chart.series = {series};
    headless.frame([&] {
      ImGui::SetNextWindowPos({0, 0});
      ImGui::SetNextWindowSize({1100, 400});
      ImGui::Begin("plot");
      draw_line_chart(headless.fonts, chart, {{20, 40}, {1020, 340}});
      ImGui::End();
    });
    return drawn_columns(theme::kAccent);
  }
  static float length(const Stretch& stretch) { return stretch.second - stretch.first; }

  Headless headless;
  // Labels at the left, a margin at the right.
  float left = 20 + 4 * headless.fonts.small->FontSize;
  float width = 1020 - headless.fonts.small->FontSize - left;
};

TEST_F(LineTest, AGapInterruptsItAndAValueBetweenGapsIsADot) {
  const std::vector<Stretch> drawn = line({1, std::nan(""), 3, 4});
  ASSERT_EQ(drawn.size(), 2U);
  EXPECT_NEAR(drawn[0].first, left, 5);
  EXPECT_LT(length(drawn[0]), 10);
  EXPECT_NEAR(drawn[1].first, left + width * 2 / 3, 5);
  EXPECT_NEAR(drawn[1].second, left + width, 5);
}

TEST_F(LineTest, OfEqualValuesSpansTheChart) {
  const std::vector<Stretch> drawn = line({2, 2, 2, 2});
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_NEAR(drawn[0].first, left, 5);
  EXPECT_NEAR(drawn[0].second, left + width, 5);
}

TEST_F(LineTest, OfOneValueIsADotInTheMiddle) {
  const std::vector<Stretch> drawn = line({1});
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_NEAR((drawn[0].first + drawn[0].second) / 2, left + width / 2, 2);
  EXPECT_LT(length(drawn[0]), 10);
}

TEST_F(LineTest, WithoutAValueTheChartSaysSo) {
  for (const std::vector<double>& none : {std::vector<double>{}, {std::nan(""), std::nan("")}}) {
    EXPECT_TRUE(line(none).empty());
    EXPECT_THAT(drawn_texts(), Contains("nothing recorded"));
  }
  EXPECT_FALSE(line({1, 2}).empty());
  EXPECT_THAT(drawn_texts(), Not(Contains("nothing recorded")));
}

TEST(Plot, AThinnedLineKeepsTheEndsAndExtremesOfEveryColumnOfPixels) {
  std::vector<ImVec2> points;
  for (int i = 0; i < 100'000; ++i) {
    points.push_back({static_cast<float>(i) / 1000, i == 50'500   ? 900.0F
                                                    : i == 50'300 ? -9.0F
                                                                  : 5});
  }
  points.front().y = 7;
  points.back().y = 8;
  const std::vector<ImVec2> kept = thinned(points);
  EXPECT_LE(kept.size(), 4 * 100U);
  EXPECT_EQ(kept.front().y, 7);
  EXPECT_EQ(kept.back().y, 8);
  EXPECT_TRUE(
      std::is_sorted(kept.begin(), kept.end(), [](ImVec2 a, ImVec2 b) { return a.x < b.x; }));
  for (const float extreme : {900.0F, -9.0F}) {
    EXPECT_EQ(
        std::count_if(kept.begin(), kept.end(), [&](ImVec2 point) { return point.y == extreme; }),
        1);
  }
  EXPECT_EQ(thinned({{1, 1}, {2, 2}, {3, 3}}).size(), 3U) << "one a column";
  EXPECT_TRUE(thinned({}).empty());
}

TEST(HeatMap, TheCellUnderTheMouseIsReturned) {
  Headless headless;
  HeatMap map;
  map.rows = 4;
  map.columns = 8;
  map.value = [](std::size_t row, std::size_t column) { return static_cast<double>(row * column); };
  map.row_name = map.column_name = [](std::size_t i) { return std::to_string(i); };
  map.most = 21;
  HeatMapCell cell;
  const float line = headless.fonts.small->FontSize;
  const Rect area{{100, 100}, {500, 400}};
  const float left = 100 + 4 * line, top = 100 + 3.5F * line;
  const float width = (500 - left) / 8, height = (400 - 3 * line - top) / 4;
  const auto draw = [&] {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({600, 500});
    ImGui::Begin("map");
    cell = draw_heat_map(headless.fonts, map, area);
    ImGui::End();
  };
  ImGui::GetIO().MousePos = {left + width * 5.5F, top + height * 2.5F};
  headless.frame(draw);
  headless.frame(draw);
  EXPECT_EQ(cell.row, 2);
  EXPECT_EQ(cell.column, 5);
  ImGui::GetIO().MousePos = {10, 10};
  headless.frame(draw);
  EXPECT_EQ(cell.row, -1);
}

TEST(HeatMap, MoreRowsThanPixelsFold) {
  Headless headless;
  HeatMap map;
  map.rows = 100000;
  map.columns = 3;
  map.value = [](std::size_t row, std::size_t) { return static_cast<double>(row); };
  map.row_name = map.column_name = [](std::size_t i) { return std::to_string(i); };
  map.most = 1e5;
  inside_window(headless, [&] {
    draw_heat_map(headless.fonts, map, {{0, 0}, {400, 300}});
    EXPECT_LT(ImGui::GetWindowDrawList()->VtxBuffer.Size, 10000);
  });
}

}  // namespace
}  // namespace viewer::plot_test
