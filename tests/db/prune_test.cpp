#include "db/prune.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <set>

#include "db/check.h"
#include "db/export.h"
#include "db/load.h"
#include "tests/db/full_sample.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::prune_test {
namespace {

class Prune : public testing::Test {
 protected:
  Prune() {
    TimelineInfo timeline;
    timeline.run_id = sample.run;
    timeline.kind = "measured";
    for (int i = 3; i <= 5; ++i) {
      timeline.iteration = i;
      insert(connection, timeline, sample_ops(), sample_spans());
    }
  }

  std::vector<std::int64_t> with_spans() const {
    std::vector<std::int64_t> ids;
    for (const TimelineInfo& timeline : load_timelines(connection)) ids.push_back(timeline.id);
    return ids;
  }
  std::string text(const std::string& sql) const {
    SQLite::Statement statement(connection.database(), sql);
    return statement.executeStep() ? statement.getColumn(0).getString() : "";
  }

  TemporaryDirectory directory;
  Connection connection = open_writer(directory.file("a.db"));
  Sample sample = store_sample(connection);
};

TEST_F(Prune, TheNewestOfEachKindKeepTheirSpans) {
  const std::string exposed = text("SELECT group_concat(exposed_s) FROM activity_view");
  EXPECT_EQ(with_spans(), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  const Pruned pruned = prune_timelines(connection, 2);
  EXPECT_EQ(pruned.timelines, 2);
  EXPECT_EQ(pruned.spans, 12);
  EXPECT_EQ(with_spans(), (std::vector<std::int64_t>{2, 4, 5})) << "2 is the prediction";
  EXPECT_EQ(text("SELECT group_concat(DISTINCT timeline_id) FROM timeline_op"), "2,4,5");
  EXPECT_EQ(text("SELECT group_concat(exposed_s) FROM activity_view"), exposed);
  EXPECT_EQ(default_timeline(connection, sample.run).id, 5);
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
  EXPECT_EQ(prune_timelines(connection, 2).timelines, 0);
  EXPECT_EQ(prune_timelines(connection, 0).timelines, 3);
}

TEST_F(Prune, TimelinesThatCostsComeFromStay) {
  connection.database().exec("UPDATE study SET profile_runs_json = '[1]'");
  const Pruned pruned = prune_timelines(connection, 1);
  EXPECT_EQ(pruned.timelines, 0);
  EXPECT_EQ(pruned.kept_for_studies, 3);
  connection.database().exec(
      "UPDATE study SET profile_runs_json = '', refinement_runs_json = '[[2],[2,1]]'");
  EXPECT_EQ(prune_timelines(connection, 1).kept_for_studies, 3);
}

TEST_F(Prune, MicroProfilesOfAStudyStay) {
  connection.database().exec(
      "UPDATE measurement SET op = 'micro_profile', "
      "parameters_json = '{\"study\":\"sample study\",\"schedule\":1,\"run\":1}'");
  EXPECT_EQ(prune_timelines(connection, 0).kept_for_studies, 5);
  connection.database().exec("UPDATE study SET name = 'another'");
  EXPECT_EQ(prune_timelines(connection, 0).timelines, 5);
}

TEST_F(Prune, TheFileIsSmallerAndSound) {
  TimelineInfo timeline;
  timeline.run_id = sample.run;
  timeline.kind = "measured";
  std::vector<Span> spans;
  for (int i = 0; i < 20000; ++i) spans.push_back(make_span(0, i % 3, i, 0.5));
  insert(connection, timeline, sample_ops(), spans);
  insert(connection, timeline, sample_ops(), sample_spans());
  const Pruned pruned = prune_timelines(connection, 1);
  EXPECT_LT(pruned.bytes_after, pruned.bytes_before / 2);
  EXPECT_EQ(pruned.bytes_after,
            static_cast<std::int64_t>(std::filesystem::file_size(connection.path())));
  EXPECT_TRUE(find_problems(connection, 1e9).empty());
}

TEST(PruneTables, OnlySpansAndWhatDescribesThemGo) {
  const std::set<std::string> of_spans{
      "span",         "timeline_program", "timeline_memory", "program",     "program_op",
      "program_edge", "program_group",    "program_tensor",  "memory_plan", "planned_tensor"};
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"));
  store_full_sample(connection);
  const auto before = rows_by_table(connection);
  prune_timelines(connection, 0);
  const auto after = rows_by_table(connection);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& [table, rows] = before[i];
    EXPECT_GT(rows, 0) << table << ": full_sample.h has a row of every table";
    EXPECT_EQ(after[i].second, of_spans.contains(table) ? 0 : rows) << table;
  }
}

TEST(PruneTables, ProgramsOfTimelinesThatWereDeletedGo) {
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"));
  store_full_sample(connection);
  connection.database().exec("DELETE FROM timeline");
  EXPECT_EQ(prune_timelines(connection, 1).timelines, 0);
  EXPECT_EQ(connection.database().execAndGet("SELECT count(*) FROM program_op").getInt(), 0);
}

}  // namespace
}  // namespace db::prune_test
