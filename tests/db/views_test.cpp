#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "db/load.h"
#include "db/query.h"
#include "db/store.h"
#include "db/view_columns.h"
#include "tests/db/sample.h"

/// views.sql and columns.md.
namespace db::views_test {
namespace {

class Views : public testing::Test {
 protected:
  std::vector<Cell> row(const std::string& sql) const {
    Query query(connection, sql);
    return query.next().value();
  }
  std::string text(const std::string& sql) const {
    const Cell cell = row(sql)[0];
    return cell.index() == 0 ? "NULL" : std::get<std::string>(cell);
  }

  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
};

std::vector<std::pair<std::string, std::string>> made_columns(const Connection& connection) {
  std::vector<std::pair<std::string, std::string>> columns;
  SQLite::Statement query(connection.database(),
                          "SELECT object.name, info.name FROM sqlite_schema AS object "
                          "JOIN pragma_table_info(object.name) AS info "
                          "WHERE object.type = 'view' ORDER BY object.rowid, info.cid");
  while (query.executeStep()) columns.emplace_back(query.getColumn(0), query.getColumn(1));
  return columns;
}

TEST_F(Views, EveryColumnStandsOnThePageAndNoOther) {
  std::vector<std::pair<std::string, std::string>> described;
  for (const ViewColumn& column : view_columns()) {
    described.emplace_back(column.view, column.name);
    EXPECT_FALSE(column.meaning.empty()) << column.view << "." << column.name;
  }
  EXPECT_EQ(described, made_columns(connection))
      << "db/columns.md lists the columns of db/views.sql in their order";
}

TEST_F(Views, UnitsOnThePageAreThoseOfTheNames) {
  for (const ViewColumn& column : view_columns()) {
    const std::string where = column.view + "." + column.name;
    const auto ends = [&](std::string_view end) { return column.name.ends_with(end); };
    if (ends("_bytes_per_s")) {
      EXPECT_EQ(column.unit, "bytes/s") << where;
    } else if (ends("_s") && !ends("_per_s")) {
      EXPECT_EQ(column.unit, "s") << where;
    } else if (ends("bytes")) {
      EXPECT_EQ(column.unit, "bytes") << where;
    } else if (ends("_at")) {
      EXPECT_EQ(column.unit, "Unix s") << where;
    } else if (ends("tokens")) {
      EXPECT_EQ(column.unit, "tokens") << where;
    }
  }
}

TEST_F(Views, AColumnOfThePageHasTheUnitInBracketsAndTheSharedMeaning) {
  const auto& columns = view_columns();
  const auto find = [&](const std::string& view, const std::string& name) {
    return *std::find_if(columns.begin(), columns.end(), [&](const ViewColumn& column) {
      return column.view == view && column.name == name;
    });
  };
  EXPECT_EQ(find("iteration_view", "loss").unit, "nats");
  EXPECT_EQ(find("span_view", "run").meaning, "number of the run");
  EXPECT_EQ(find("figure_view", "system").meaning, find("figure_view", "quantity").meaning)
      << "both stand in one line";
}

TEST_F(Views, WhatIsAskedOfOneTimelineReadsThatTimelineAlone) {
  const std::set<std::string> large{
      "SCAN span",       "SCAN op_activity",  "SCAN rank_activity", "SCAN timeline_program",
      "SCAN program_op", "SCAN program_edge", "SCAN program_group", "SCAN program_tensor",
      "SCAN memory",     "SCAN planned"};
  for (const auto& [view, column] : made_columns(connection)) {
    if (column != "timeline" && column != "timeline_id") continue;
    SQLite::Statement plan(connection.database(), "EXPLAIN QUERY PLAN SELECT * FROM " + view +
                                                      " WHERE " + column + " = 3");
    while (plan.executeStep()) {
      EXPECT_FALSE(large.contains(plan.getColumn(3).getString())) << view;
    }
  }
}

TEST_F(Views, SharesOfATrainingAddUpToItsDuration) {
  db::Run run = sample_run(sample.machine);
  run.started_at = 1000, run.pid = 77;
  for (const double iteration_s : {1.0, 3.0}) {
    const std::int64_t id = insert(connection, run);
    std::vector<Iteration> iterations(2);
    for (int i = 0; i < 2; ++i) {
      Iteration& row = iterations[static_cast<std::size_t>(i)];
      row.run_id = id, row.iteration = i + 1, row.duration_s = iteration_s;
    }
    insert(connection, iterations);
  }
  connection.database().exec("UPDATE run SET finished_at = 1016 WHERE started_at = 1000");
  const auto shares =
      row("SELECT sum(duration_s), sum(share_s), min(share_s), count(DISTINCT training_run) "
          "FROM run_view WHERE started_at = 1000");
  EXPECT_EQ(shares, (std::vector<Cell>{32.0, 16.0, 4.0, std::int64_t{1}}));
  EXPECT_EQ(row("SELECT share_s = duration_s, training_run FROM run_view WHERE run = 1"),
            (std::vector<Cell>{std::int64_t{1}, std::int64_t{1}}))
      << "a training alone";
  run.started_at = 2000, run.kind = "bench";
  insert(connection, run);
  connection.database().exec("UPDATE run SET finished_at = 2008 WHERE started_at = 2000");
  EXPECT_EQ(row("SELECT share_s, training_run FROM run_view WHERE started_at = 2000"),
            (std::vector<Cell>{8.0, Cell()}));
}

TEST_F(Views, TrialsAndStudiesTellOnWhatTheyWereMeasured) {
  connection.database().exec(
      "UPDATE study SET model_json = '{\"name\": \"tiny\"}', profile_runs_json = '[1]';"
      "UPDATE run SET revision = 'abc', network = 'eth0 10 Gbit/s';"
      "UPDATE run_rank SET hostname = 'n' || rank, node = rank;"
      "UPDATE trial SET failure = 'out_of_memory' WHERE status = 'out_of_memory'");
  EXPECT_EQ(text("SELECT model || ' ' || revision || ' ' || hosts || ' ' || network "
                 "FROM trial_view WHERE planner = 'tutel'"),
            "tiny abc n0, n1 eth0 10 Gbit/s");
  EXPECT_EQ(text("SELECT machine_class FROM trial_view WHERE planner = 'tutel'"),
            "4 cores of a processor, 16 GiB");
  EXPECT_EQ(text("SELECT model || ' ' || revision || ' ' || hosts || ' ' || network || ' ' || "
                 "machine_class FROM study_view"),
            "tiny abc n0, n1 eth0 10 Gbit/s 4 cores of a processor, 16 GiB");
  EXPECT_EQ(text("SELECT failure FROM trial_view WHERE planner = 'pipemoe'"), "out_of_memory");
  EXPECT_EQ(text("SELECT failure FROM trial_view WHERE planner = 'tutel'"), "NULL");
}

TEST_F(Views, TrialsAndStudiesTellWithWhichOthersTheyTakeTurns) {
  EXPECT_EQ(text("SELECT part_of FROM study_view"), "NULL");
  connection.database().exec("UPDATE study SET part_of = 'wide'");
  EXPECT_EQ(text("SELECT part_of FROM study_view"), "wide");
  EXPECT_EQ(text("SELECT count(*) || '' FROM trial_view WHERE part_of = 'wide'"),
            text("SELECT count(*) || '' FROM trial"));
}

TEST_F(Views, OnTheFrontAreSetupsThatNoOtherOfTheirSearchBeats) {
  PredictedSetup setup;
  setup.run_id = 1;
  setup.batch_per = "rank";
  setup.schedule_id = 1;
  std::vector<PredictedSetup> setups;
  const auto add = [&](const std::string& settings, int ranks, const std::string& layout,
                       double predicted_s, std::int64_t bytes) {
    setup.settings = settings, setup.ranks = ranks, setup.layout = layout;
    setup.place = static_cast<int>(setups.size()) + 1;
    setup.predicted_s = predicted_s, setup.predicted_peak_bytes = bytes;
    setups.push_back(setup);
  };
  add("", 4, "fast", 1, 400);
  add("", 4, "beaten", 2, 500);
  add("", 4, "as lean, later", 2, 400);
  add("", 4, "lean", 3, 300);
  add("", 8, "alone", 9, 900);
  add("training.precision=bf16", 4, "other settings", 9, 900);
  insert(connection, setups);
  EXPECT_EQ(text("SELECT group_concat(layout, '; ') FROM (SELECT layout FROM setup_view WHERE "
                 "on_front ORDER BY place)"),
            "fast; lean; alone; other settings");
  EXPECT_EQ(text("SELECT count(*) || '' FROM setup_view WHERE settings IS NULL"), "5");
  EXPECT_EQ(text("SELECT count(*) || '' FROM setup_view WHERE on_front = '1'"), "4")
      << "as moe-db setups --on-front 1 asks";
}

TEST_F(Views, EqualMachinesOfOtherNamesAreOneClass) {
  Machine machine = sample_machine("another");
  machine.hostname = "node7";
  machine.memory_bytes -= 40 << 20;  // what the kernel kept for itself
  machine.gpu = "H100", machine.gpu_count = 8;
  db::Run run = sample_run(find_or_insert(connection, machine));
  const std::int64_t id = insert(connection, run);
  EXPECT_EQ(text("SELECT machine_class FROM run_view WHERE run = " + std::to_string(id)),
            "4 cores of a processor, 16 GiB, 8 x H100");
  EXPECT_EQ(text("SELECT hosts FROM run_view WHERE run = " + std::to_string(id)), "node7")
      << "ranks are not known";
}

TEST_F(Views, TheFitsThatATrialUsedAreThoseOfItsRefinement) {
  Study study = load_studies(connection).at(0);
  const auto store_costs = [&](double alpha_s) {
    study.cost_model_json = "{\"fits\": {\"gemm\": {\"alpha_s\": " + std::to_string(alpha_s) +
                            ", \"beta_s_per_unit\": 2e-12, \"unit\": \"flop\", \"samples\": 4}}}";
    update_study(connection, study);
  };
  store_costs(0.25);
  study.refinement_runs_json = "[[1]]";
  store_costs(0.5);
  connection.database().exec(
      "UPDATE trial SET first_predicted_s = 0.3 WHERE planner = 'sequential';"
      "UPDATE trial SET parameters_json = '{\"refinement\": 1}' WHERE planner = 'tutel'");
  EXPECT_EQ(text("SELECT group_concat(costs || ' ' || refinement || ' ' || fit || ' ' || alpha_s, "
                 "'; ') FROM (SELECT * FROM trial_fit_view WHERE planner = 'sequential' "
                 "ORDER BY costs)"),
            "first_predicted 0 gemm 0.25; predicted 1 gemm 0.5");
  EXPECT_EQ(text("SELECT group_concat(costs || ' ' || refinement, '; ') FROM (SELECT * FROM "
                 "trial_fit_view WHERE planner = 'tutel' ORDER BY costs)"),
            "planned 1; predicted 1");
}

}  // namespace
}  // namespace db::views_test
