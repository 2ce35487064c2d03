#include "viewer/window/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/viewer/headless.h"
#include "viewer/window/heat_map.h"

namespace viewer {
namespace {

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

TEST(Plot, ALineWithGapsOneValueOrNoneDraws) {
  Headless headless;
  const double nan = std::nan("");
  for (const std::vector<double>& y :
       {std::vector<double>{1, nan, 3, 4}, {nan, nan, nan, nan}, {2, 2, 2, 2}, {1}, {}}) {
    Series series{"loss", theme::kAccent, {}, y, false};
    for (std::size_t i = 0; i < y.size(); ++i) series.x.push_back(static_cast<double>(i));
    LineChart chart;
    chart.title = "Loss";
    chart.series = {series};
    inside_window(headless, [&] { draw_line_chart(headless.fonts, chart, {{0, 0}, {400, 300}}); });
  }
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
}  // namespace viewer
