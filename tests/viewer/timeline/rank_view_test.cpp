#include "viewer/timeline/rank_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"
#include "viewer/model/catalog.h"

namespace viewer::rank_view_test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// A run of 64 ranks, eight on a node, in the whole window.
class RankViewTest : public ::testing::Test, public OpenApp {
 protected:
  RankViewTest() : run(add_wide_run(connection, 64)), app(open(run, "timeline")) { frames(2); }

  void frames(int count) {
    for (int i = 0; i < count; ++i) headless.frame(draw);
  }
  TimelinePanel& panel() { return app.states.of<TimelinePanel>(); }
  RankView& ranks() { return panel().ranks; }
  // Where a text is drawn: its first glyph, somewhat inside.
  static ImVec2 place_of_band(const Color color) {
    const std::vector<DrawnTriangle> all = drawn_triangles();
    for (const DrawnTriangle& one : all) {
      if ((one.corners[0].col & ~IM_COL32_A_MASK) != (to_u32(color) & ~IM_COL32_A_MASK)) continue;
      if (one.right() - one.left() < 400) continue;
      return {(one.left() + one.right()) / 2, (one.top() + one.bottom()) / 2};
    }
    return {};
  }

  std::int64_t run;
  App app;
  std::function<void()> draw = [this] { draw_app(app); };
};

TEST_F(RankViewTest, ManyRanksBeginAsBandsOfNodes) {
  EXPECT_TRUE(ranks().choice.by_node);
  EXPECT_THAT(drawn_texts(), Contains("node 0"));
  EXPECT_THAT(drawn_texts(), Contains("64 of 64 ranks"));
  EXPECT_THAT(drawn_texts(), Not(Contains("rank 0")));
  EXPECT_FALSE(panel().is_due) << "without a background all is there at once";
  const NodeBand& band = ranks().bands.at({panel().stacked.front(), 0});
  EXPECT_EQ(band.shown.ranks, 8U);
}

TEST_F(RankViewTest, AClickOnABandOpensTheNodeAndOneOnARankPinsIt) {
  const ImVec2 first = place_of_band(theme::kLane);
  headless.click({first.x - 200, first.y}, draw);
  EXPECT_EQ(ranks().choice.opened, std::set<int>{0});
  frames(1);
  EXPECT_THAT(drawn_texts(), Contains("rank 1"));
  EXPECT_FALSE(panel().selected) << "a click on a band selects no span";

  ranks().hovered_node.reset();
  const StackEntry none;
  ranks().hovered_rank = 7;
  EXPECT_TRUE(click_rank(panel(), std::span(&none, 1)));
  frames(2);
  EXPECT_EQ(ranks().choice.pinned, std::set<int>{7});
  ranks().hovered_rank = 7;
  EXPECT_TRUE(click_rank(panel(), std::span(&none, 1)));
  EXPECT_THAT(ranks().choice.pinned, IsEmpty());
}

TEST_F(RankViewTest, TheListAndTheSwitchDecideWhatIsShown) {
  ranks().choice.ranks = "0-7,63";
  ranks().choice.by_node = false;
  ranks().is_by_node_chosen = true;
  frames(2);
  EXPECT_THAT(drawn_texts(), Contains("9 of 64 ranks"));
  EXPECT_THAT(drawn_texts(), Contains("rank 0"));
  EXPECT_THAT(drawn_texts(), Not(Contains("node 0")));
}

TEST_F(RankViewTest, RanksAreSortedByWhatTheTablesSay) {
  ranks().choice.by_node = false;
  ranks().is_by_node_chosen = true;
  const std::int64_t id = app.session.stacked.front();
  const Timeline& timeline = app.session.timelines.at(id);
  const auto first_rank = [&](RankOrder order) {
    ranks().choice.order = order;
    frames(1);
    return timeline.ledgers[ranks().shown.at(id).rows.ledgers.front()].rank;
  };
  EXPECT_EQ(first_rank(RankOrder::number), 0);
  const Summary all = summarize(timeline, timeline.extent);
  const auto idlest =
      std::max_element(all.ranks.begin(), all.ranks.end(),
                       [](const auto& a, const auto& b) { return a.idle_s < b.idle_s; });
  EXPECT_EQ(first_rank(RankOrder::idle), idlest->rank);
  const SpanIndex index = index_spans(timeline);
  EXPECT_EQ(first_rank(RankOrder::lateness), lateness(timeline, index, timeline.extent)[0].rank);
  const auto most =
      std::max_element(timeline.ledgers.begin(), timeline.ledgers.end(),
                       [](const TimeLedger& a, const TimeLedger& b) { return a.flops < b.flops; });
  EXPECT_EQ(first_rank(RankOrder::load), most->rank);
}

TEST_F(RankViewTest, AWalkOpensTheNodeOfTheSpanThatItComesTo) {
  const Timeline& timeline = app.session.timelines.at(app.session.stacked.front());
  const std::size_t lane = timeline.ledgers[20].first_lane;
  frames(1);
  std::vector<StackEntry> stack = {{&timeline, "wide", "", ""}};
  stack[0].rows = &ranks().shown.at(app.session.stacked.front()).rows;
  show_rank(panel(), stack, {0, {lane, 0}});
  EXPECT_EQ(ranks().choice.opened, std::set<int>{2});
  ranks().choice.ranks = "0-7";
  frames(1);
  show_rank(panel(), stack, {0, {lane, 0}});
  EXPECT_EQ(ranks().choice.pinned, std::set<int>{20}) << "which the list leaves out";
}

TEST_F(RankViewTest, BandsThatAreMadeBesideTheFramesAreCompleteSoon) {
  app.session.in_background = true;
  panel().view = {panel().view.begin_s, panel().view.begin_s + panel().view.length_s() / 5};
  int taken = 0;
  do {
    frames(1);
    ++taken;
  } while (panel().is_due && taken < 1000);
  EXPECT_FALSE(panel().is_due);
  EXPECT_FALSE(is_moving(app));
}

}  // namespace
}  // namespace viewer::rank_view_test
