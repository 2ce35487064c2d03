#include "viewer/window/heat_map.h"

#include <gtest/gtest.h>

namespace viewer::heat_map_test {
namespace {

TEST(HeatMap, CellsWithoutAValueAreEmptyAndCountInNoMean) {
  HeatMap map;
  map.rows = map.columns = 2;
  map.value = [](std::size_t row, std::size_t column) {
    return row == column ? std::nullopt : std::optional(row == 0 ? 0.5 : 0.25);
  };
  EXPECT_EQ(mean_of_cells(map, 0, 1, 0, 1), std::nullopt);
  EXPECT_EQ(mean_of_cells(map, 0, 1, 0, 2), 0.5);
  EXPECT_EQ(mean_of_cells(map, 0, 2, 0, 2), 0.375);
}

TEST(HeatMap, SharesAreShownWithTheirDecimals) {
  HeatMap map;
  EXPECT_EQ(cell_text(map, 1234.4), "1,234");
  map.decimals = 2;
  EXPECT_EQ(cell_text(map, 0.534), "0.53");
}

}  // namespace
}  // namespace viewer::heat_map_test
