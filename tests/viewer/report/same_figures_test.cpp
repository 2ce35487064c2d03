#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/statement.h"
#include "db/store.h"
#include "db/timeline/collective_ranks.h"
#include "db/timeline/read_timeline.h"
#include "db/timeline/timeline_text.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/report/findings.h"
#include "viewer/report/tables.h"
#include "viewer/timeline/timeline_panel.h"

/// Whoever tells of a stored timeline, tells the same: the tables of a study and the views (stored
/// sums), `moe-db why`, the report, and the panels of the viewer.
namespace viewer::same_figures_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

class SameFigures : public testing::Test {
 protected:
  db::Connection connection = db::open_writer(":memory:");
  SyntheticIds ids = fill_synthetic_database(connection);
  Session session = open_session(connection, {.run = ids.study_run});
  StudyFacts facts = gather_study(session);
};

TEST_F(SameFigures, OfTheRanksOfATimeline) {
  for (const TimelineFacts& of : facts.timelines) {
    const db::TimelineInfo& info = of.timeline->info;
    const Timeline timeline = db::read_timeline(connection, info);
    const db::RankStatistics mean =
        db::why(timeline, db::all_ranks_together(connection, info)).summary.mean;
    db::Statement stored(connection,
                         "SELECT avg(computation_s), avg(communication_s), avg(exposed_s), "
                         "avg(exposed_transfer_s), avg(exposed_waiting_s), avg(exposed_bubble_s) "
                         "FROM activity_view WHERE timeline = ?");
    ASSERT_TRUE(stored.bind(info.id).step());
    TimelinePanel panel;
    const std::vector<StackEntry> stack = {{&timeline, "", "", ""}};
    const db::RankStatistics shown = summaries(panel, stack)[0].mean;
    int column = 0;
    const auto expect_same = [&](double why_s, double shown_s, double reported_s) {
      EXPECT_NEAR(stored.value<double>(column), why_s, 1e-9 * why_s + 1e-12) << column;
      EXPECT_EQ(shown_s, why_s) << column;
      EXPECT_EQ(reported_s, why_s) << column;
      ++column;
    };
    const db::RankStatistics& reported = of.summary.mean;
    expect_same(mean.computation_s, shown.computation_s, reported.computation_s);
    expect_same(mean.communication_s, shown.communication_s, reported.communication_s);
    expect_same(mean.exposed_s, shown.exposed_s, reported.exposed_s);
    expect_same(mean.exposed_transfer_s(), shown.exposed_transfer_s(),
                reported.exposed_transfer_s());
    expect_same(mean.exposed_waiting_s, shown.exposed_waiting_s, reported.exposed_waiting_s);
    expect_same(mean.exposed_bubble_s, shown.exposed_bubble_s, reported.exposed_bubble_s);
  }
}

TEST_F(SameFigures, OfThePathTheExposedOpsAndTheWords) {
  const TimelineFacts* shown = facts.best_measured;
  ASSERT_NE(shown, nullptr);
  const Timeline timeline = db::read_timeline(connection, shown->timeline->info);
  const db::Why why = db::why(timeline, db::all_ranks_together(connection, timeline.info));
  std::vector<std::string> reported;
  for (const Finding& finding : findings(facts)) {
    reported.insert(reported.end(), finding.paragraphs.begin(), finding.paragraphs.end());
  }
  const std::string name = shown->title + ", " + db::timeline_name(timeline.info);
  for (const std::string& text : db::exposure_text(timeline, name, why)) {
    EXPECT_THAT(reported, Contains(text));
  }
  ASSERT_FALSE(why.path.empty());
  for (const std::string& text : db::path_and_late_text(why)) {
    EXPECT_THAT(reported, Contains(text));
  }
  TimelinePanel panel;
  const std::vector<PathPart> parts = path_parts(timeline, path_of(panel, timeline));
  ASSERT_EQ(parts.size(), why.path.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].seconds, why.path[i].seconds);
  }
  ASSERT_FALSE(why.exposed.empty());
  for (const CsvTable& table : csv_tables(connection, facts)) {
    if (table.file != "exposed.csv") continue;
    EXPECT_THAT(table.text, HasSubstr(fmt::format("{},{}", why.exposed[0].duration_s,
                                                  why.exposed[0].exposed_s)));
  }
}

}  // namespace
}  // namespace viewer::same_figures_test
