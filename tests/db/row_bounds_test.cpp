#include "db/row_bounds.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>

#include "db/check.h"
#include "db/export.h"
#include "db/load.h"
#include "db/load_views.h"
#include "db/timeline/chrome_trace.h"
#include "db/timeline/exchange_splits.h"
#include "tests/db/sample.h"

namespace db::row_bounds_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

class RowBoundsTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<RankLoad> rank_loads{{sample.run, 2, 1, 0, 600, 610, std::nullopt}};
    insert(connection, rank_loads);
    const std::vector<ExpertPlace> places{{sample.run, 2, 1, 1, 3, 0}};
    insert(connection, places);
    connection.database().exec("PRAGMA ignore_check_constraints = 1");  // as in older files
    connection.database().exec("PRAGMA foreign_keys = 0");
  }

  /// What reading the sample says while `sql` is done to it; "" where it is read.
  std::string refused(const std::string& sql, const std::function<void()>& read) {
    connection.database().exec("SAVEPOINT before");
    connection.database().exec(sql);
    std::string text;
    try {
      read();
    } catch (const WrongValue& error) {
      text = error.what();
      EXPECT_THAT(find_problems(connection, 1e9), Contains(HasSubstr(error.problem)))
          << "check says what reading refuses";
    }
    connection.database().exec("ROLLBACK TO before; RELEASE before");
    return text;
  }

  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
};

TEST_F(RowBoundsTest, WhatAProgramHasStoredIsRead) {
  EXPECT_THAT(find_problems(connection, 1e9), testing::IsEmpty());
}

TEST_F(RowBoundsTest, IndexesOutsideTheirRunAreRefusedWithTableColumnValueAndFile) {
  const auto loads = [&] { load_loads(connection, {.run_id = sample.run}); };
  EXPECT_EQ(refused("UPDATE OR IGNORE load SET rank = 2 WHERE rank = 1", loads),
            ":memory:: load.rank = 2, where run_id = 1: expected an integer from 0 to 1, as run 1 "
            "has 2 ranks");
  EXPECT_THAT(refused("UPDATE OR IGNORE load SET rank = -1 WHERE rank = 1", loads),
              HasSubstr("load.rank = -1, where run_id = 1: expected an integer from 0 to "));
  EXPECT_THAT(
      refused("UPDATE load SET expert = expert + 100000", loads),
      HasSubstr("load.expert = 100000, where run_id = 1: expected an integer from 0 to 3, as layer "
                "1 has 4 experts in iteration 0"));
  EXPECT_THAT(refused("UPDATE load SET expert = 4294967296 WHERE expert = 0", loads),
              HasSubstr("load.expert = 4294967296, "))
      << "it is not taken for 0";
  const auto ranks = [&] { load_run_ranks(connection, sample.run); };
  EXPECT_THAT(refused("UPDATE run_rank SET node = 2147483647", ranks),
              HasSubstr("run_rank.node = 2147483647, where run_id = 1"));
  const auto run = [&] { load_run(connection, sample.run); };
  EXPECT_THAT(refused("UPDATE run SET ranks = 2147483647", run),
              HasSubstr("run.ranks = 2147483647, where id = 1: expected an integer from 1 to "));
}

TEST_F(RowBoundsTest, SpansOutsideTheirTimelineAreRefusedBothWaysOfReading) {
  const auto spans = [&] { load_spans(connection, sample.measured); };
  const auto visit = [&] {
    visit_spans(connection, sample.measured, 0, [](const Span&) { return true; });
  };
  for (const auto& read : {std::function<void()>(spans), std::function<void()>(visit)}) {
    EXPECT_THAT(refused("UPDATE span SET start_s = start_s - 5", read),
                AllOf(HasSubstr("span.start_s = -5, where timeline_id = 1: expected a number from "
                                "0 to 1e+09")));
    EXPECT_THAT(refused("UPDATE span SET duration_s = 1e300", read),
                HasSubstr("span.duration_s = 1e+300, "));
    EXPECT_EQ(refused("UPDATE span SET start_s = start_s + 5", read), "");
  }
  EXPECT_THAT(refused("UPDATE OR IGNORE span SET rank = 7 WHERE rank = 1", spans),
              HasSubstr("span.rank = 7, where timeline_id = 1: expected an integer from 0 to 1, as "
                        "it is of 2 ranks"));
}

TEST_F(RowBoundsTest, ListsOfRunsOfAnotherShapeAreRefused) {
  const auto study = [&] { find_study(connection, "sample study"); };
  EXPECT_THAT(refused(R"(UPDATE study SET profile_runs_json = '{"a":1}')", study),
              HasSubstr(R"(study.profile_runs_json = {"a":1}, where id = 1: expected a list of)"));
  EXPECT_THAT(refused("UPDATE study SET refinement_runs_json = '[[1.5]]'", study),
              HasSubstr("study.refinement_runs_json = [[1.5]], where id = 1: expected"));
}

/// Every reader of rows.
void read_all(const Connection& connection, const Sample& sample,
              const std::filesystem::path& folder) {
  const auto each = [](const std::function<void()>& read, std::string& first) {
    try {
      read();
    } catch (const Error& error) {
      if (first.empty()) first = error.what();
    }
  };
  std::string first;
  const std::int64_t run = sample.run;
  const std::vector<std::function<void()>> readers{
      [&] { load_runs(connection); },
      [&] { load_machine(connection, sample.machine); },
      [&] { load_run_ranks(connection, run); },
      [&] { load_iterations(connection, run); },
      [&] { load_loads(connection, {.run_id = run}); },
      [&] { load_expert_loads(connection, {.run_id = run}); },
      [&] { load_rank_loads(connection, run); },
      [&] { load_expert_places(connection, run); },
      [&] { load_recorded_iterations(connection, run); },
      [&] { load_studies(connection); },
      [&] { load_trials(connection, sample.study); },
      [&] { load_trial_repeats(connection, sample.trials[0]); },
      [&] { load_latest_fits(connection); },
      [&] { load_measurements(connection); },
      [&] { load_timelines(connection); },
      [&] { load_timeline_ops(connection, sample.measured); },
      [&] { load_timeline_memory(connection, sample.measured); },
      [&] { load_spans(connection, sample.measured); },
      [&] { load_span_ranks(connection, sample.measured); },
      [&] { load_run_overviews(connection); },
      [&] { load_balances(connection, run); },
      [&] { load_trial_figures(connection); },
      [&] { exchange_tokens(connection, load_timeline(connection, sample.measured), 2); },
      [&] { export_routing(connection, run, 2, folder / "routing.json"); },
      [&] { export_trace(connection, std::vector{sample.measured}, folder / "trace.json"); }};
  for (const auto& read : readers) each(read, first);
  if (!first.empty()) throw Error(ErrorKind::invalid, first);
}

TEST_F(RowBoundsTest, AnyNumberInAnyColumnIsReadOrRefusedAsAnErrorOfTheDatabase) {
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      fmt::format("row_bounds_{}", static_cast<const void*>(this));
  std::filesystem::create_directories(folder);
  SQLite::Statement columns(
      connection.database(),
      "SELECT object.name, info.name, info.type FROM main.sqlite_schema AS object "
      "JOIN pragma_table_info(object.name, 'main') AS info "
      "WHERE object.type = 'table' AND info.type IN ('INTEGER', 'REAL')");
  std::vector<std::array<std::string, 3>> all;
  while (columns.executeStep()) {
    all.push_back({columns.getColumn(0), columns.getColumn(1), columns.getColumn(2)});
  }
  int tried = 0;
  for (const auto& [table, column, type] : all) {
    const std::vector<std::string> integers{"-1", "0", "2147483647", "9223372036854775807"},
        reals{"-1.0", "0.0", "1e300", "-1e300", column + " + 5", column + " - 5"};
    for (const std::string& value : type == "REAL" ? reals : integers) {
      connection.database().exec("SAVEPOINT before");
      connection.database().tryExec(
          fmt::format("UPDATE OR IGNORE {} SET {} = {}", table, column, value));
      SCOPED_TRACE(fmt::format("{}.{} = {}", table, column, value));
      try {
        read_all(connection, sample, folder);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(connection.path())));
      }
      find_problems(connection, 1e9);
      connection.database().exec("ROLLBACK TO before; RELEASE before");
      ++tried;
    }
  }
  EXPECT_GT(tried, 400);
  EXPECT_THAT(find_problems(connection, 1e9), testing::IsEmpty()) << "nothing is left of it";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace db::row_bounds_test
