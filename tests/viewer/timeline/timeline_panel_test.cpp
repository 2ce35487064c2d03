#include "viewer/timeline/timeline_panel.h"

#include <gtest/gtest.h>

#include "tests/viewer/headless.h"
#include "tests/viewer/lanes.h"

namespace viewer::timeline_panel_test {
namespace {

// Two lanes of rank 0 over 10 s, drawn into a known area: tests know where things are.
class TimelinePanelTest : public ::testing::Test {
 protected:
  TimelinePanelTest()
      : timeline(hand_timeline({{0, "compute", "linear", 0, 4},
                                {0, "compute", "gelu", 4, 5},
                                {0, "compute", "attention", 6, 10},
                                {0, "inter_node", "all_to_all", 1, 3}})),
        other(hand_timeline({{0, "compute", "linear", 0, 3}, {0, "inter_node", "all_to_all", 1, 5}},
                            2)),
        stack({{&timeline, "one", "", ""}}) {
    headless.frame(draw);
  }

  float x_of(double axis_s) const {
    const float left = 10.5F * headless.fonts.text->FontSize;
    const float right = 1000 - ImGui::GetStyle().ScrollbarSize;
    return left + static_cast<float>((axis_s - panel.view.begin_s) / panel.view.length_s()) *
                      (right - left);
  }
  // The first lane: below the ruler, the header and the gap above a rank.
  float first_lane_y() const { return headless.fonts.text->FontSize * (2.0F + 1.9F + 0.3F + 0.7F); }

  Headless headless;
  Timeline timeline, other;
  std::vector<StackEntry> stack;
  TimelinePanel panel;
  std::function<void()> draw = [this] {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({1000, 400});
    ImGui::Begin("test", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_timelines(panel, headless.fonts, stack, {{0, 0}, {1000, 400}});
    ImGui::End();
  };
};

TEST_F(TimelinePanelTest, TheFirstFrameShowsEverything) {
  EXPECT_LE(panel.view.begin_s, 0);
  EXPECT_GE(panel.view.end_s, 10);
  EXPECT_LT(panel.view.length_s(), 11);
}

TEST_F(TimelinePanelTest, WZoomsInAtTheMouseAndSOut) {
  ImGui::GetIO().MousePos = {x_of(2), 100};
  const double before = panel.view.length_s();
  const float mouse = ImGui::GetIO().MousePos.x;
  headless.press('W', draw, 20);
  EXPECT_LT(panel.view.length_s(), before * 0.6);
  EXPECT_NEAR(x_of(2), mouse, 1);
  headless.press('S', draw, 200);
  EXPECT_GE(panel.view.length_s(), before);
}

TEST_F(TimelinePanelTest, AAndDPan) {
  headless.press('W', draw, 30);
  const double begin = panel.view.begin_s;
  headless.press('D', draw, 10);
  EXPECT_GT(panel.view.begin_s, begin);
  headless.press('A', draw, 10);
  EXPECT_NEAR(panel.view.begin_s, begin, 1e-6);
}

TEST_F(TimelinePanelTest, ControlAndWheelZoomsThePlainWheelDoesNot) {
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = {x_of(5), first_lane_y()};
  headless.frame(draw);
  const double before = panel.view.length_s();
  io.MouseWheel = 1;
  headless.frame(draw);
  EXPECT_DOUBLE_EQ(panel.view.length_s(), before);
  io.KeyCtrl = true;
  io.MouseWheel = 1;
  headless.frame(draw);
  EXPECT_NEAR(panel.view.length_s(), before * 0.8, 1e-9);
}

TEST_F(TimelinePanelTest, AClickSelectsTheSpanUnderTheMouse) {
  headless.click({x_of(7), first_lane_y()}, draw);
  ASSERT_TRUE(panel.selected);
  EXPECT_EQ(panel.selected->at, (SpanPosition{0, 2}));
  headless.click({x_of(5.5), first_lane_y()}, draw);
  EXPECT_FALSE(panel.selected) << "a click between spans selects none";
}

TEST_F(TimelinePanelTest, PeriodAndCommaStepThroughTheLane) {
  headless.click({x_of(1), first_lane_y()}, draw);
  headless.press('.', draw);
  EXPECT_EQ(panel.selected->at.span, 1U);
  headless.press('.', draw);
  headless.press('.', draw);
  EXPECT_EQ(panel.selected->at.span, 2U) << "stops at the last";
  headless.press(',', draw);
  EXPECT_EQ(panel.selected->at.span, 1U);
}

TEST_F(TimelinePanelTest, SteppingBringsTheSpanIntoView) {
  headless.click({x_of(1), first_lane_y()}, draw);
  panel.view = {0, 2};
  headless.press('.', draw);
  EXPECT_GE(panel.view.end_s, 5);
  EXPECT_NEAR(panel.view.length_s(), 2, 1e-9);
}

TEST_F(TimelinePanelTest, FFitsTheSelectionAndWithoutOneAll) {
  headless.click({x_of(4.5), first_lane_y()}, draw);
  headless.press('F', draw);
  EXPECT_NEAR(panel.view.begin_s, 3.75, 1e-6);
  EXPECT_NEAR(panel.view.end_s, 5.25, 1e-6);
  panel.selected.reset();
  headless.press('F', draw);
  EXPECT_GE(panel.view.end_s, 10);
}

TEST_F(TimelinePanelTest, ADoubleClickZoomsToTheSpan) {
  const ImVec2 at{x_of(4.5), first_lane_y()};
  headless.click(at, draw);
  headless.click(at, draw);
  EXPECT_NEAR(panel.view.begin_s, 3.75, 1e-6);
  EXPECT_NEAR(panel.view.end_s, 5.25, 1e-6);
}

TEST_F(TimelinePanelTest, ADragPansAndSelectsNothing) {
  panel.view = {2, 6};
  const double px_s = 4.0 / (x_of(6) - x_of(2));
  headless.drag({500, first_lane_y()}, {400, first_lane_y()}, draw);
  EXPECT_NEAR(panel.view.begin_s, 2 + 100 * px_s, 1e-6);
  EXPECT_FALSE(panel.selected);
}

TEST_F(TimelinePanelTest, ShiftAndDragMarksARangeThatLimitsTheFigures) {
  ImGui::GetIO().KeyShift = true;
  headless.drag({x_of(1), first_lane_y()}, {x_of(3), first_lane_y()}, draw);
  ImGui::GetIO().KeyShift = false;
  headless.frame(draw);
  ASSERT_TRUE(panel.range);
  EXPECT_NEAR(panel.range->begin_s, 1, 0.02);
  EXPECT_NEAR(panel.range->end_s, 3, 0.02);
  EXPECT_NEAR(covered_share(summaries(panel, stack)[0].mean).value(), 1, 0.02);
  headless.press(256, draw);  // Escape
  EXPECT_FALSE(panel.range);
  EXPECT_NEAR(summaries(panel, stack)[0].mean.idle_s, 1, 1e-6);
}

TEST_F(TimelinePanelTest, FiguresOfAnyNumberOfTimelinesHaveRoomBesideEachOther) {
  stack.clear();
  for (int count = 1; count <= 8; ++count) {
    stack.push_back({&other, "a schedule of many words, chunks 4/4", "", ""});
    float hidden_px = 0;
    for (int frame = 0; frame < 3; ++frame) {  // a scroll bar takes a frame to be known
      headless.frame([&] {
        ImGui::SetNextWindowSize({1000, 200});
        ImGui::Begin("figures", nullptr, ImGuiWindowFlags_HorizontalScrollbar);
        draw_summaries(panel, headless.fonts, stack);
        hidden_px = ImGui::GetScrollMaxX();
        ImGui::End();
      });
    }
    EXPECT_EQ(hidden_px, 0) << count;
  }
}

TEST_F(TimelinePanelTest, TheSelectedOpIsFoundInTheOtherTimeline) {
  stack.push_back({&other, "two", "", ""});
  panel = {};
  headless.frame(draw);
  panel.selected = StackPosition{0, {1, 0}};
  headless.frame(draw);
  const std::vector<SpanPosition> communication = {{1, 0}};
  EXPECT_EQ(counterpart_of_selected(panel, stack, 1).value().spans, communication);
  EXPECT_EQ(counterpart_of_selected(panel, stack, 0).value().spans, communication);
}

TEST_F(TimelinePanelTest, KeysTypedIntoATextFieldMoveNothing) {
  const TimeRange before = panel.view;
  std::string text;
  char buffer[16] = "";
  const auto with_field = [&] {
    draw();
    ImGui::Begin("field");
    ImGui::SetKeyboardFocusHere();
    ImGui::InputText("text", buffer, sizeof buffer);
    ImGui::End();
  };
  headless.frame(with_field);
  headless.frame(with_field);
  headless.press('W', with_field, 10);
  EXPECT_EQ(panel.view, before);
}

TEST_F(TimelinePanelTest, AMarkOfManySpansSaysHowMany) {
  std::vector<HandSpan> spans;
  for (int i = 0; i < 100000; ++i) {
    spans.push_back({0, "compute", "linear", i * 1e-4, i * 1e-4 + 5e-5});
  }
  const Timeline dense = hand_timeline(spans, 7);
  stack = {{&dense, "dense", "", ""}};
  panel = {};
  ImGui::GetIO().MousePos = {500, first_lane_y()};
  headless.frame(draw);
  headless.frame(draw);
  ASSERT_TRUE(panel.hovered);
  EXPECT_GT(panel.hovered_count, 200U);  // 100000 spans over some 850 px, 3 px a mark
}

}  // namespace
}  // namespace viewer::timeline_panel_test
