#include "moe/rows/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "moe/rows/binding.h"

namespace moe::window_test {
namespace {

using ::testing::ElementsAre;

/// Rows 2, 3 and 4 of every second expert: two of four experts on each of two ranks, three chunks.
RowLayout layout_of_three_chunks() {
  const LayerRouting routing{0, 4, {{7, 0, 4, 9}, {1, 0, 2, 3}}};
  return make_row_layout(routing, make_groups(2, 2), 1, {{0, 1}, {1, 3}, {2, 3}, {1, 1}});
}

TEST(Window, HoldsTheRowsOfASliceExpertByExpertFromZeroOn) {
  const RowLayout layout = layout_of_three_chunks();
  for (int chunk = 0; chunk < 3; ++chunk) {
    const auto slice = expert_rows(layout, {chunk, 3});
    const auto window = window_rows(slice);
    ASSERT_EQ(window.size(), 2);
    EXPECT_EQ(window[0].begin, 0);
    EXPECT_EQ(window[1].begin, slice[0].rows);
    EXPECT_EQ(window[0].rows, slice[0].rows);
    EXPECT_EQ(window[1].rows, slice[1].rows);
  }
}

TEST(Window, SegmentsOfASliceFillItsWindowOnceEach) {
  const RowLayout layout = layout_of_three_chunks();
  for (int chunk = 0; chunk < 3; ++chunk) {
    const Slice slice{chunk, 3};
    std::vector<int> filled(static_cast<std::size_t>(received_rows(layout, slice)));
    const auto whole = received_segments(layout, slice);
    const auto segments = window_segments(whole, expert_rows(layout, slice));
    ASSERT_EQ(segments.size(), whole.size());
    for (std::size_t i = 0; i < segments.size(); ++i) {
      EXPECT_EQ(segments[i].peer, whole[i].peer);
      EXPECT_EQ(segments[i].rows, whole[i].rows);
      for (std::int64_t row = 0; row < segments[i].rows; ++row) {
        ++filled.at(static_cast<std::size_t>(segments[i].begin + row));
      }
    }
    EXPECT_EQ(filled, std::vector<int>(filled.size(), 1));
  }
}

TEST(Window, RefusesRowsOfAnotherSlice) {
  const RowLayout layout = layout_of_three_chunks();
  EXPECT_THROW(window_segments(received_segments(layout, {1, 3}), expert_rows(layout, {0, 3})),
               std::logic_error);
}

TEST(Window, HasRoomForItsLargestSlice) {
  Binding binding;
  binding.layouts.emplace(RoutedLayer{0, 0}, layout_of_three_chunks());
  Tensor tensor{"window", DType::f32, Role::activation, Rows::received, 0, 5, 0};
  tensor.windows = 3;
  std::int64_t largest = 0, all = 0;
  for (int chunk = 0; chunk < 3; ++chunk) {
    const std::int64_t rows = rows_of(tensor, {chunk, 3}, binding);
    largest = std::max(largest, rows);
    all += rows;
  }
  EXPECT_EQ(all, 4 + 9 + 2 + 3);
  EXPECT_EQ(allocated_bytes(tensor, binding), largest * 5 * 4);
}

}  // namespace
}  // namespace moe::window_test
