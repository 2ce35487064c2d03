#include "viewer/timeline/memory_strip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/viewer/drawn.h"
#include "tests/viewer/headless.h"
#include "tests/viewer/lanes.h"
#include "viewer/timeline/tables.h"

namespace viewer::memory_strip_test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

db::Allocation allocation(int rank, int tensor, std::int64_t offset, std::int64_t bytes) {
  db::Allocation row;
  row.rank = rank;
  row.tensor = tensor;
  row.offset_bytes = offset;
  row.bytes = bytes;
  return row;
}

db::Allocation passing(int rank, int tensor, std::int64_t offset, std::int64_t bytes, int first_op,
                       int last_op, double begin_s, double end_s) {
  db::Allocation row = allocation(rank, tensor, offset, bytes);
  row.first_op = first_op, row.last_op = last_op;
  row.begin_s = begin_s, row.end_s = end_s;
  return row;
}

// Two ranks of four seconds. Rank 1 holds 3 MiB from 1 to 2 s beside weights of 1 MiB, rank 0 less.
class MemoryStrip : public ::testing::Test {
 protected:
  MemoryStrip() {
    db::TimelineMemory memory{{{1, 0, "weights", "parameter", "device"},
                               {1, 1, "hidden", "activation", "device"},
                               {1, 2, "late", "activation", "device"}},
                              {allocation(0, 0, 0, kMiB), passing(0, 1, kMiB, kMiB / 2, 0, 0, 0, 1),
                               allocation(1, 0, 0, kMiB), passing(1, 1, kMiB, 3 * kMiB, 2, 2, 1, 2),
                               passing(1, 2, kMiB, kMiB / 5, 3, 3, 3, 4)}};
    std::vector<db::RunRank> ranks(1);
    ranks[0].rank = 1;
    ranks[0].measured_peak_bytes = 39 * kMiB / 10;
    table = build_memory_table(memory, ranks);
    stack[0].memory = &table;
    panel.figures = Figures::memory;
    for (int i = 0; i < 3; ++i) headless.frame(draw);
  }
  bool is_drawn(const std::string& text) {
    for (int i = 0; i < 2; ++i) headless.frame(draw);
    const std::vector<std::string> texts = drawn_texts();
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& drawn) {
      return drawn.find(text) != std::string::npos;
    });
  }
  // Where a moment of the strip is on the screen: the lines of the levels tell where it is.
  ImVec2 at(double time_s) {
    const float left = headless.fonts.text->FontSize * 10.5F;
    const float right = 1400 - ImGui::GetStyle().ScrollbarSize;
    const double share = (time_s - panel.view.begin_s) / panel.view.length_s();
    return {left + static_cast<float>(share) * (right - left), strip_y};
  }

  Headless headless;
  Timeline timeline = hand_timeline({{0, "compute", "gate", 0, 1},
                                     {0, "compute", "rest", 1, 4},
                                     {1, "compute", "experts", 1, 2},
                                     {1, "compute", "update", 3, 4}});
  MemoryTable table;
  std::vector<StackEntry> stack{{&timeline, "one", "", ""}};
  TimelinePanel panel;
  float strip_y = 0;
  std::function<void()> draw = [this] {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({1400, 400});
    ImGui::Begin("lanes", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_timelines(panel, headless.fonts, stack, {{0, 0}, {1400, 400}});
    ImGui::End();
    ImGui::SetNextWindowPos({0, 400});
    ImGui::SetNextWindowSize({1400, 300});
    ImGui::Begin("below", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_figures(panel, headless.fonts, stack);
    ImGui::End();
  };
};

TEST_F(MemoryStrip, ShowsTheFullestRankAndWhatStandsAtItsPeak) {
  EXPECT_TRUE(is_drawn("peak 4.00 MiB"));
  EXPECT_TRUE(is_drawn("planned 4.00 MiB"));
  EXPECT_TRUE(is_drawn("touched 3.90 MiB"));
  EXPECT_TRUE(is_drawn("rank 1 (fullest)"));
  EXPECT_TRUE(is_drawn("hidden"));
  EXPECT_TRUE(is_drawn("parameters (1 tensor)"));
  EXPECT_TRUE(is_drawn("75.0%"));
  EXPECT_FALSE(is_drawn("late"));
}

TEST_F(MemoryStrip, ARankIsChosen) {
  panel.memory.rank = 0;
  EXPECT_TRUE(is_drawn("peak 1.50 MiB"));
  EXPECT_FALSE(is_drawn("touched")) << "nothing is known of rank 0";
  panel.memory.rank = 17;
  EXPECT_TRUE(is_drawn("peak 4.00 MiB")) << "there is no rank 17: the fullest";
}

TEST_F(MemoryStrip, AClickAsksWhatStandsAtThatMoment) {
  panel.figures = Figures::ranks;
  panel.memory.pinned = true;
  panel.selected = StackPosition{0, {0, 0}};
  for (int i = 0; i < 3; ++i) headless.frame(draw);
  // From below, the first place that is in the strip.
  ImGui::GetIO().MousePos = {1, 1};
  for (strip_y = 395; strip_y > 0 && !panel.memory.hovered; strip_y -= 4) {
    ImGui::GetIO().MousePos = at(3.5);
    headless.frame(draw);
  }
  ASSERT_TRUE(panel.memory.hovered);
  EXPECT_NEAR(panel.memory.hovered->at_s, 3.5, 0.02);
  EXPECT_TRUE(is_drawn("1.20 MiB in use at 3.")) << "the tooltip";
  headless.click(at(3.5), draw);
  ASSERT_TRUE(panel.memory.chosen);
  EXPECT_EQ(panel.figures, Figures::memory);
  EXPECT_TRUE(panel.selected) << "the span stays selected";
  EXPECT_TRUE(is_drawn("late"));
  EXPECT_FALSE(is_drawn("hidden"));
  headless.press(256, draw);  // Escape
  EXPECT_FALSE(panel.memory.chosen);
}

TEST_F(MemoryStrip, MShowsItBesideAnyTable) {
  panel.figures = Figures::ops;
  EXPECT_FALSE(shows_memory(panel));
  headless.press('M', draw);
  EXPECT_TRUE(shows_memory(panel));
  headless.press('M', draw);
  EXPECT_FALSE(shows_memory(panel));
}

TEST_F(MemoryStrip, SaysWhereTheMemoryWasNotStored) {
  table = {};
  EXPECT_TRUE(is_drawn("stored without its memory"));
  EXPECT_TRUE(is_drawn("stored without the memory of its tensors"));
}

}  // namespace
}  // namespace viewer::memory_strip_test
