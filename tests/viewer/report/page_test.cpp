#include "viewer/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "db/connection.h"
#include "db/store.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/report/findings.h"

namespace viewer::page_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReportTest : public ::testing::Test {
 protected:
  Session open(std::int64_t run) const {
    Start start;
    start.run = run;
    return open_session(connection, start);
  }

  db::Connection connection = db::open_writer(":memory:");
  SyntheticIds ids = fill_synthetic_database(connection);
};

std::string all_words(const StudyFacts& facts) {
  std::string words = headline(facts) + "\n";
  for (const Finding& finding : findings(facts)) {
    words += finding.heading + "\n";
    for (const std::string& paragraph : finding.paragraphs) words += paragraph + "\n";
  }
  return words;
}

TEST_F(ReportTest, SpeaksOfTheFastestTrialItsBoundAndItsErrors) {
  Session session = open(ids.study_run);
  const StudyFacts facts = gather_study(session);
  ASSERT_NE(facts.best, nullptr);
  EXPECT_EQ(facts.best->row->trial.id, ids.best_trial);
  const std::string words = all_words(facts);
  EXPECT_THAT(headline(facts), HasSubstr(facts.best->row->trial.planner));
  EXPECT_THAT(headline(facts), HasSubstr("times as fast as sequential"));
  EXPECT_THAT(words, HasSubstr("How far from the limit"));
  EXPECT_THAT(words, HasSubstr("How good the predictions were"));
  EXPECT_THAT(words, HasSubstr("7.1 GiB over the limit of 4.0 GiB"));
  EXPECT_THAT(words, HasSubstr("1 schedule was predicted and not trained."));
  EXPECT_THAT(words, HasSubstr("It was not repeated"));
  EXPECT_THAT(words, Not(HasSubstr("nan")));
}

TEST_F(ReportTest, NamesWhatBoundsAndABoundThatIterationsBroke) {
  Session session = open(ids.study_run);
  TrialRow* best = nullptr;
  for (TrialRow& row : session.catalog.trials) {
    if (row.trial.id == ids.best_trial) best = &row;
  }
  ASSERT_NE(best, nullptr);
  best->trial.bounded_by = "rank 0 inter_node";
  const StudyFacts facts = gather_study(session);
  EXPECT_THAT(all_words(facts), HasSubstr("what bounds it is the stream inter_node of rank 0"));
  EXPECT_THAT(all_words(facts), HasSubstr("is left to gain"));

  best->figures.min_iteration_s = 0.9 * *best->trial.lower_bound_s;
  EXPECT_THAT(all_words(facts), HasSubstr("how much is left to gain is not known"));
  EXPECT_THAT(all_words(facts), Not(HasSubstr("at most")));
  EXPECT_THAT(report_page(facts, {}, {}, "a.db"), HasSubstr("lower bound, which iterations broke"));
}

TEST_F(ReportTest, NamesTheFullestExpertAndItsReplicas) {
  Session session = open(ids.study_run);
  StudyFacts facts = gather_study(session);
  facts.balances.iterations = {7}, facts.balances.layers = {3};
  facts.balances.rows.resize(1);
  db::BalanceOverview& balance = facts.balances.rows.front();
  balance.iteration = 7, balance.layer = 3, balance.experts = 3;
  balance.tokens = 12, balance.max_over_mean = 1.5;
  facts.loads = {{6, 7}, {2, 3}, 3, {9, 0, 0, 9, 0, 0, 9, 0, 0, 2, 6, 4}};
  db::ExpertPlace place;
  place.iteration = 7, place.layer = 3, place.expert = 1;
  facts.ranks.places = {place, place};
  facts.ranks.places[1].rank = 2, facts.ranks.places[1].replica = 1;
  const std::string words = all_words(facts);
  EXPECT_THAT(words, HasSubstr("its fullest expert, 1, had 1.50 times the mean of 4 tokens"));
  EXPECT_THAT(words, HasSubstr("Replicated there: expert 1 of rank 0, also on 2."));
  balance.dropped_tokens = 4, balance.asked_max_over_mean = 2.25;
  EXPECT_THAT(all_words(facts), HasSubstr("the mean of 4 tokens that were kept, and 2.25 times "
                                          "that of what gates asked for"));
}

TEST_F(ReportTest, OfARunThatRepeatsATrialIsOfItsStudy) {
  const TrialRow* trial = nullptr;
  Session session = open(ids.study_run);
  for (const TrialRow& row : session.catalog.trials) {
    if (!row.runs.empty()) trial = &row;
  }
  ASSERT_NE(trial, nullptr);
  Session of_repeat = open(trial->runs.front());
  EXPECT_EQ(gather_study(of_repeat).study.id, trial->trial.study_id);
}

TEST_F(ReportTest, IsRefusedWhereThereIsNoStudy) {
  const db::Connection empty = db::open_writer(":memory:");
  Session session = open_session(empty, {});
  try {
    gather_study(session);
    FAIL();
  } catch (const db::Error& error) {
    EXPECT_EQ(error.kind, db::ErrorKind::not_found);
    EXPECT_THAT(error.what(), HasSubstr("holds no study to report on"));
  }
}

TEST_F(ReportTest, OfAStudyWithoutTrialsSaysSo) {
  db::Study study;
  study.name = "a new one";
  study.ranks = 2;
  study.created_at = 4e9;
  db::Connection lonely = db::open_writer(":memory:");
  db::insert(lonely, study);
  Session session = open_session(lonely, {});
  const StudyFacts facts = gather_study(session);
  EXPECT_EQ(headline(facts), "This study has no trials yet.");
  EXPECT_THAT(report_page(facts, {}, {}, "a.db"), HasSubstr("no trials yet"));
}

TEST_F(ReportTest, PageHoldsItsPicturesAndRefersToNothingElsewhere) {
  Session session = open(ids.study_run);
  const StudyFacts facts = gather_study(session);
  const std::string page = report_page(facts, {{"timeline.png", "one <iteration>", 4, 2, "PNG"}},
                                       csv_tables(connection, facts), "/tmp/of/results.db");
  EXPECT_THAT(page, HasSubstr("data:image/png;base64,UE5H"));
  EXPECT_THAT(page, HasSubstr("one &lt;iteration&gt;"));
  EXPECT_THAT(page, HasSubstr("<td data-name=\"measured\">"));
  EXPECT_THAT(page, HasSubstr("href=\"trials.csv\""));
  EXPECT_THAT(page, HasSubstr("from results.db"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST_F(ReportTest, PlansAreCountedBesideMeasuredTrialsAndListedAlone) {
  Session session = open(ids.study_run);
  const auto page = [&] { return report_page(gather_study(session), {}, {}, "a.db"); };
  EXPECT_THAT(page(), HasSubstr("1 more was predicted only"));
  for (TrialRow& row : session.catalog.trials) row.trial.status = "planned";
  EXPECT_THAT(page(), HasSubstr("<td data-name=\"predicted\">"));
  EXPECT_THAT(page(), Not(HasSubstr("predicted only")));
}

TEST_F(ReportTest, TablesHaveTheRowsOfTheStudy) {
  Session session = open(ids.study_run);
  const StudyFacts facts = gather_study(session);
  for (const CsvTable& table : csv_tables(connection, facts)) {
    const auto lines =
        static_cast<std::size_t>(std::count(table.text.begin(), table.text.end(), '\n'));
    if (table.file == "trials.csv") {
      EXPECT_EQ(lines, facts.trials.size() + 1);
    }
    if (table.file == "ranks.csv") {
      EXPECT_EQ(lines, 1 + 4 * facts.timelines.size());
    }
    if (table.file == "exposed.csv") {
      EXPECT_EQ(lines, 1 + facts.why.exposed.size());
    }
    EXPECT_GE(lines, 1U) << table.file;
  }
}

}  // namespace
}  // namespace viewer::page_test
