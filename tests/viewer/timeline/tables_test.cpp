#include "viewer/timeline/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/viewer/drawn.h"
#include "tests/viewer/headless.h"
#include "tests/viewer/lanes.h"
#include "viewer/timeline/input.h"

namespace viewer::tables_test {
namespace {

using ::testing::Contains;
using ::testing::Not;

// Two random timelines above one another, and the tables below them, as the panel lays them out.
class TablesTest : public ::testing::Test {
 protected:
  TablesTest() { headless.frame(draw); }

  void show(Figures figures) {
    panel.figures = figures;
    for (int i = 0; i < 3; ++i) headless.frame(draw);
  }
  bool is_drawn(const std::string& text) const {
    const std::vector<std::string> texts = drawn_texts();
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& drawn) {
      return drawn.find(text) != std::string::npos;
    });
  }
  void type(char character) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(character));
    headless.frame(draw);
    headless.frame(draw);
  }
  void draw_below(float width) {
    ImGui::SetNextWindowPos({0, 500});
    ImGui::SetNextWindowSize({width, 400});
    ImGui::Begin("below", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_figures(panel, headless.fonts, stack);
    ImGui::End();
  }
  Headless headless;
  Timeline first = random_timeline(1), second = random_timeline(2, 2);
  std::vector<StackEntry> stack{{&first, "one", "", ""}, {&second, "two", "", ""}};
  TimelinePanel panel;
  std::function<void()> draw = [this] {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({1400, 500});
    ImGui::Begin("lanes", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_timelines(panel, headless.fonts, stack, {{0, 0}, {1400, 500}});
    ImGui::End();
    draw_below(1400);
  };
};

TEST_F(TablesTest, EveryTableIsDrawn) {
  const std::vector<std::pair<Figures, std::string>> words = {
      {Figures::ranks, "computation"},     {Figures::ops, "P95"},
      {Figures::collectives, "mean late"}, {Figures::path, "steps make up"},
      {Figures::memory, "stored without"}, {Figures::differences, "all of it"}};
  for (const auto& [figures, word] : words) {
    show(figures);
    EXPECT_TRUE(is_drawn(word)) << figures_title(figures);
  }
}

TEST_F(TablesTest, WhatNeedsAllRanksWaitsUntilTheyAreRead) {
  first.complete = false;
  panel.search.text = "layer 0";
  search(panel, stack);
  EXPECT_FALSE(panel.lit.contains(first.info.id));
  for (const Figures figures :
       {Figures::ops, Figures::collectives, Figures::path, Figures::differences}) {
    show(figures);
    EXPECT_TRUE(is_drawn("when all ranks have been read")) << figures_title(figures);
  }
  panel.selected = StackPosition{0, {0, 0}};
  show(Figures::ranks);
  EXPECT_TRUE(is_drawn("computation")) << "the ranks that are there";
  EXPECT_FALSE(panel.memo.has(Question::index, first.info.id));
  first.complete = true;
  show(Figures::ops);
  EXPECT_FALSE(op_rows(panel, stack).rows.empty());
}

TEST_F(TablesTest, APinnedRowIsWalkedFromTheLongestExposed) {
  show(Figures::ops);
  for (const OpRow& row : op_rows(panel, stack).rows) {
    if (activity_of(row.sample) == Activity::communication) pin_row(panel, stack, row.sample.kind);
  }
  ASSERT_FALSE(panel.walk.spans.empty());
  type('n');
  ASSERT_TRUE(panel.selected);
  double before_s = exposed_s(first, panel.selected->at);
  for (std::size_t i = 1; i < panel.walk.spans.size(); ++i) {
    type('n');
    EXPECT_EQ(panel.selected, panel.walk.spans[i]);
    const double now_s = exposed_s(first, panel.selected->at);
    EXPECT_LE(now_s, before_s);
    before_s = now_s;
  }
  type('n');
  EXPECT_EQ(panel.selected, panel.walk.spans.front()) << "round again";
  type('N');
  EXPECT_EQ(panel.selected, panel.walk.spans.back());
}

TEST_F(TablesTest, SlashSearchesAndEnterStepsToTheHits) {
  type('/');
  headless.frame(draw);
  for (const char c : std::string("all_to_all")) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(c));
    headless.frame(draw);
  }
  headless.frame(draw);
  EXPECT_EQ(panel.figures, Figures::ops);
  EXPECT_EQ(panel.search.text, "all_to_all");
  std::size_t expected = 0;
  for (const Timeline* timeline : {&first, &second}) {
    for (const Lane& lane : timeline->lanes) {
      for (const LaneSpan& span : lane.spans) {
        expected += timeline->ops[static_cast<std::size_t>(span.op)].kind == "all_to_all" ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(panel.walk.spans.size(), expected);
  EXPECT_TRUE(is_drawn(std::to_string(expected))) << "the hits are counted";
  ImGui::GetIO().KeyMap[ImGuiKey_Enter] = 257;  // GLFW's codes
  ImGui::GetIO().KeyMap[ImGuiKey_Escape] = 256;
  headless.press(257, draw);
  ASSERT_TRUE(panel.selected);
  EXPECT_EQ(panel.selected, panel.walk.spans.front());
  headless.press(256, draw);  // Escape leaves the field
  headless.press(256, draw);
  EXPECT_TRUE(panel.lit.empty());
}

TEST_F(TablesTest, BracketsWalkTheCriticalPath) {
  const std::vector<PathStep>& path = path_of(panel, first);
  type(']');
  EXPECT_EQ(panel.figures, Figures::path);
  ASSERT_TRUE(panel.selected);
  EXPECT_EQ(panel.selected->at, path[0].at);
  type(']');
  EXPECT_EQ(panel.selected->at, path[1].at);
  type('[');
  EXPECT_EQ(panel.selected->at, path[0].at);
  type('[');
  EXPECT_EQ(panel.selected->at, path.back().at);
}

TEST_F(TablesTest, AClickOnAnOpFramesItInBothTimelines) {
  show(Figures::differences);
  const Differences* found = difference_of(panel, stack);
  ASSERT_NE(found, nullptr);
  for (const OpDifference& op : found->ops) {
    if (!op.in_first || !op.in_second) continue;
    frame_both(panel, stack, op);
    ASSERT_TRUE(panel.selected);
    EXPECT_EQ(panel.selected->at, *op.in_first);
    for (const auto& [timeline, at] :
         {std::pair(&first, *op.in_first), std::pair(&second, *op.in_second)}) {
      const double shift_s = timeline->extent.begin_s;
      EXPECT_LE(panel.view.begin_s, span_at(*timeline, at).start_s - shift_s);
      EXPECT_GE(panel.view.end_s, span_at(*timeline, at).end_s - shift_s);
    }
  }
}

TEST_F(TablesTest, TapsThatAreQuickerThanAFrameAllCount) {
  show(Figures::ops);
  for (const OpRow& row : op_rows(panel, stack).rows) {
    if (activity_of(row.sample) == Activity::communication) pin_row(panel, stack, row.sample.kind);
  }
  ASSERT_GT(panel.walk.spans.size(), 3U);
  for (int i = 0; i < 3; ++i) ImGui::GetIO().AddInputCharacter('n');
  headless.frame(draw);
  EXPECT_EQ(panel.selected, panel.walk.spans[2]);
}

TEST_F(TablesTest, WhereNamesHaveNoRoomTimelinesAreCounted) {
  const std::string name(300, 'x');
  for (StackEntry& entry : stack) entry.title = name;
  draw = [this] {
    ImGui::SetNextWindowPos({0, 500});
    ImGui::SetNextWindowSize({560, 400});
    ImGui::Begin("below", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_figures(panel, headless.fonts, stack);
    ImGui::End();
  };
  show(Figures::collectives);
  const std::vector<std::string> texts = drawn_texts();
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "2"), 2) << "and the row of rank 2";
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "-"), 0);
}

TEST_F(TablesTest, AnyTwoOfThreeTimelinesAreCompared) {
  const Timeline third = random_timeline(3, 3);
  stack.push_back({&third, "three", "", ""});
  show(Figures::differences);
  EXPECT_DOUBLE_EQ(difference_of(panel, stack)->total_s,
                   second.extent.length_s() - first.extent.length_s());
  panel.color_by_difference = true;
  headless.frame(draw);
  panel.memo.forget();
  panel.compared = {1, 2};
  for (int i = 0; i < 3; ++i) headless.frame(draw);
  const Differences* found = difference_of(panel, stack);
  EXPECT_DOUBLE_EQ(found->total_s, third.extent.length_s() - second.extent.length_s());
  EXPECT_TRUE(panel.memo.has(Question::difference_colors, third.info.id));
  EXPECT_FALSE(panel.memo.has(Question::difference_colors, first.info.id)) << "it is not compared";
  const auto in_both = std::find_if(found->ops.begin(), found->ops.end(),
                                    [](const auto& op) { return op.in_first && op.in_second; });
  ASSERT_NE(in_both, found->ops.end());
  frame_both(panel, stack, *in_both);
  EXPECT_EQ(panel.selected->stack, 1U);

  stack.pop_back();  // what was chosen is not there any more
  show(Figures::differences);
  EXPECT_EQ(compared_pair(panel, stack), (std::array<std::size_t, 2>{0, 1}));
}

TEST_F(TablesTest, FiguresOfDifferencesAreWholeInANarrowPanel) {
  float width = 0;
  draw = [&] { draw_below(width); };
  // 580 px are beside a selected span in a window of 1280.
  for (const float wide : {1400.0F, 660.0F, 580.0F, 500.0F}) {
    width = wide;
    show(Figures::differences);
    EXPECT_EQ(cut_glyphs(), 0) << wide;
    const std::vector<std::string> texts = drawn_texts();
    const auto columns = [&](const char* name) {
      return std::count(texts.begin(), texts.end(), name);
    };
    EXPECT_EQ(columns("difference"), 2) << wide;
    if (wide == 580) continue;  // whether the ops have both figures depends on the font
    EXPECT_EQ(columns("first"), wide > 1000 ? 2 : wide > 600 ? 1 : 0) << wide;
  }
}

TEST_F(TablesTest, AClickOnAHeaderSortsByItAtAnyWidth) {
  float width = 1400;
  draw = [&] { draw_below(width); };
  // The name of the first row: columns are drawn one after the other, each below its header.
  const auto first_row = [&] {
    ImGui::GetIO().MousePos = {1, 1};
    show(Figures::ops);
    const std::vector<std::string> texts = drawn_texts();
    const auto after = std::find(texts.rbegin(), texts.rend(), "op").base();
    return after == texts.end() ? "" : *after;
  };
  const auto most = [&](double OpRow::*figure) {
    const std::vector<OpRow>& rows = op_rows(panel, stack).rows;
    return std::max_element(rows.begin(), rows.end(),
                            [&](const OpRow& a, const OpRow& b) { return a.*figure < b.*figure; })
        ->name;
  };
  EXPECT_EQ(first_row(), most(&OpRow::total_s));
  ASSERT_NE(most(&OpRow::total_s), most(&OpRow::exposed_s));
  const auto click = [&](const char* header) {
    const auto place = drawn_place(header);
    ASSERT_TRUE(place) << header;
    headless.click(*place, draw);
  };
  click("exposed");
  EXPECT_EQ(first_row(), most(&OpRow::exposed_s));
  width = 580;  // a span is selected in a window of 1280
  EXPECT_EQ(first_row(), most(&OpRow::exposed_s)) << "the narrow table is sorted alike";
  click("total");
  EXPECT_EQ(first_row(), most(&OpRow::total_s));
  click("exposed");
  EXPECT_EQ(first_row(), most(&OpRow::exposed_s));
  click("total");
  width = 1400;
  EXPECT_EQ(first_row(), most(&OpRow::total_s)) << "and the wide one again";
}

TEST_F(TablesTest, AMarkedRangeLimitsTheRows) {
  show(Figures::ops);
  const auto total = [&] {
    double sum_s = 0;
    for (const OpRow& row : op_rows(panel, stack).rows) sum_s += row.total_s;
    return sum_s;
  };
  const double whole_s = total();
  panel.range = TimeRange{0, first.extent.length_s() / 2};
  EXPECT_LT(total(), whole_s);
  EXPECT_GT(total(), 0);
}

TEST_F(TablesTest, TheSelectedSpanHasItsPredictionBeside) {
  const auto texts = [&] {
    panel.selected = StackPosition{0, {0, 0}};
    draw = [&] {
      ImGui::Begin("selection");
      draw_selection(panel, headless.fonts, stack);
      ImGui::End();
    };
    for (int i = 0; i < 2; ++i) headless.frame(draw);
    return drawn_texts();
  };
  stack.resize(1);
  EXPECT_THAT(texts(), Not(Contains("predicted")));
  stack[0].beside = &second;
  EXPECT_THAT(texts(), Contains("predicted"));
  ASSERT_TRUE(beside_selected(panel, stack));
  EXPECT_EQ(beside_selected(panel, stack)->duration_s,
            counterpart(first, {0, 0}, second)->duration_s);
}

TEST_F(TablesTest, TheTimelineBesideIsCountedUnderTheSameKeys) {
  stack[0].beside = &second;
  show(Figures::ops);
  for (const OpRow& row : op_table(second, index_spans(second), second.extent, OpGrouping::kind)) {
    EXPECT_DOUBLE_EQ(op_rows(panel, stack).beside_s.at(row.sample.kind), row.total_s);
  }
  EXPECT_TRUE(is_drawn("predicted"));
}

TEST_F(TablesTest, TheSelectedCommunicationHasItsPartnersAndCauses) {
  for (std::size_t l = 0; l < first.lanes.size(); ++l) {
    if (first.lanes[l].stream != "inter_node" || first.lanes[l].spans.size() < 2) continue;
    panel.selected = StackPosition{0, {l, 1}};
    headless.frame(draw);
    const AboutSpan& about = about_selected(panel, stack);
    ASSERT_TRUE(about.collective);
    EXPECT_EQ(about.collective->parts.size(), 2U) << "the ranks of its group";
    EXPECT_FALSE(about.causes.empty());
  }
}

TEST_F(TablesTest, WithoutEdgesThePathSaysSo) {
  first.waits_for.clear();
  show(Figures::path);
  EXPECT_TRUE(is_drawn("stored without what its ops wait for"));
  type(']');
  EXPECT_FALSE(panel.selected);
}

TEST_F(TablesTest, OpsOfOneTimelineAloneHaveNoDifferences) {
  stack.resize(1);
  panel = {};
  show(Figures::differences);
  EXPECT_EQ(panel.figures, Figures::ranks);
}

}  // namespace
}  // namespace viewer::tables_test
