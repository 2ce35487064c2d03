#include "db/programs.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "db/check.h"
#include "db/export.h"
#include "db/load.h"
#include "db/merge.h"
#include "tests/db/full_sample.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::programs_test {
namespace {

std::string text(const Connection& connection, const std::string& sql) {
  SQLite::Statement statement(connection.database(), sql);
  return statement.executeStep() ? statement.getColumn(0).getString() : "";
}

class Programs : public testing::Test {
 protected:
  std::int64_t store(const std::vector<TimelineOp>& ops, const std::vector<Span>& spans,
                     const TimelineMemory& memory = {}) {
    TimelineInfo timeline;
    timeline.kind = "measured";
    return insert(connection, timeline, ops, spans, {}, {}, memory);
  }
  int count(const std::string& table) const {
    return connection.database().execAndGet("SELECT count(*) FROM " + table).getInt();
  }

  Connection connection = open_writer(":memory:");
};

TEST_F(Programs, WhatIsAlikeIsStoredOnceAndShownForEveryTimeline) {
  std::vector<Span> spans = sample_spans();
  const auto first = store(sample_ops(), spans, sample_memory());
  for (Span& span : spans) span.start_s *= 2;
  std::vector<TimelineOp> in_another_order = sample_ops();
  std::swap(in_another_order[0], in_another_order[2]);
  const auto second = store(in_another_order, spans, sample_memory());
  EXPECT_EQ(count("program"), 1);
  EXPECT_EQ(count("program_op"), 3);
  EXPECT_EQ(count("memory_plan"), 1) << "both ranks have one";
  EXPECT_EQ(count("planned_tensor"), 2);
  EXPECT_EQ(count("timeline_op"), 6);
  EXPECT_EQ(load_timeline_ops(connection, second)[2].name, "expert");
  const auto begins = [&](std::int64_t id) {
    return load_timeline_memory(connection, id).allocations.at(1).end_s;
  };
  EXPECT_EQ(begins(first), 0.005);
  EXPECT_EQ(begins(second), 0.006) << "times are those of the timeline's own spans";
}

TEST_F(Programs, MemoryIsReadAsItsViewShowsIt) {
  TimelineMemory memory = sample_memory();
  memory.allocations[3].first_op = 2, memory.allocations[3].last_op = 2;
  const auto id = store(sample_ops(), sample_spans(), memory);
  std::string loaded;
  for (const Allocation& of : load_timeline_memory(connection, id).allocations) {
    loaded += fmt::format("{} {} {} {} {} {}; ", of.rank, of.tensor, of.offset_bytes, of.bytes,
                          of.begin_s.value_or(-1), of.end_s.value_or(-1));
  }
  EXPECT_EQ(loaded,
            "0 0 0 100 -1 -1; 0 1 100 40 0 0.005; 1 0 0 100 -1 -1; 1 1 100 40 0.005 0.008; ");
  EXPECT_EQ(
      text(connection,
           "SELECT group_concat(rank || ' ' || tensor || ' ' || offset_bytes || ' ' || bytes "
           "|| ' ' || coalesce(iif(begin_s = 0, 0, begin_s), -1) || ' ' || coalesce(end_s, -1) "
           "|| '; ', '') FROM (SELECT * FROM allocation ORDER BY rank, tensor)"),
      loaded);
}

TEST_F(Programs, WhatDiffersInOneCellIsAnother) {
  store(sample_ops(), sample_spans(), sample_memory());
  std::vector<TimelineOp> ops = sample_ops();
  ops[1].group_kind = "expert";
  TimelineMemory memory = sample_memory();
  memory.allocations[1].last_op = 2;
  store(ops, sample_spans(), memory);
  EXPECT_EQ(count("program"), 2);
  EXPECT_EQ(count("memory_plan"), 2);
  memory.tensors[1].pool = "host";
  store(ops, sample_spans(), memory);
  EXPECT_EQ(count("program"), 3);
  EXPECT_EQ(count("memory_plan"), 2);
  store({}, {});
  EXPECT_EQ(count("timeline_program"), 3) << "nothing is known of the last";
}

TEST_F(Programs, CellsDoNotRunIntoEachOther) {
  std::vector<TimelineOp> ops = sample_ops();
  ops[0].name = "a", ops[0].kind = "bc";
  store(ops, sample_spans());
  ops[0].name = "ab", ops[0].kind = "c";
  store(ops, sample_spans());
  EXPECT_EQ(count("program"), 2);
}

TEST_F(Programs, ThoseThatNoTimelineHasAreRemoved) {
  const auto first = store(sample_ops(), sample_spans(), sample_memory());
  const auto second = store(sample_ops(), sample_spans(), sample_memory());
  EXPECT_EQ(remove_unused_programs(connection), 0);
  forget_program(connection, first);
  EXPECT_EQ(remove_unused_programs(connection), 0);
  EXPECT_EQ(count("timeline_op"), 3);
  connection.database().exec("DELETE FROM timeline WHERE id = " + std::to_string(second));
  EXPECT_EQ(count("timeline_op"), 0);
  EXPECT_THROW(connection.database().exec("INSERT INTO timeline_program VALUES (1, 99)"),
               SQLite::Exception);
  EXPECT_EQ(remove_unused_programs(connection), 2);
  for (const char* table : tables_of_programs()) EXPECT_EQ(count(table), 0) << table;
}

TEST_F(Programs, AnOpThatUsesATensorHasASpanOnItsRank) {
  std::vector<Span> spans = sample_spans();
  spans.pop_back();  // op 2 on rank 1
  TimelineMemory memory = sample_memory();
  memory.allocations[3].last_op = 2;
  EXPECT_THROW(store(sample_ops(), spans, memory), Error) << "nothing says how long it is in use";
  EXPECT_EQ(count("timeline"), 0);
}

/// A file that a program of version 7 has made.
class Version7 : public testing::Test {
 protected:
  Version7() {
    std::ifstream file(std::string(MOELAB_SOURCE_DIR) + "/tests/db/version_7.sql");
    std::ostringstream sql;
    sql << file.rdbuf();
    SQLite::Database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql.str());
  }

  /// What programs and people read of timelines: tables of this file, and views since then.
  std::string contents() const {
    const SQLite::Database database(path, SQLite::OPEN_READONLY);
    std::string all;
    for (const char* of :
         {"timeline_op ORDER BY timeline_id, op", "op_edge ORDER BY timeline_id, op, before",
          "rank_group ORDER BY timeline_id, kind, rank",
          "timeline_tensor ORDER BY timeline_id, tensor",
          "allocation ORDER BY timeline_id, rank, tensor",
          "span ORDER BY timeline_id, rank, start_s, op"}) {
      SQLite::Statement rows(database, std::string("SELECT * FROM ") + of);
      while (rows.executeStep()) {
        for (int i = 0; i < rows.getColumnCount(); ++i) {
          all += rows.getColumn(i).getString() + '|';
        }
        all += '\n';
      }
    }
    return all;
  }

  TemporaryDirectory directory;
  std::string path = directory.file("seven.db");
};

TEST_F(Version7, AReaderNamesTheVersionsAndTheCommandThatBringsItUpToDate) {
  const auto before = snapshot(directory.path());
  try {
    open_reader(path);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::older);
    EXPECT_EQ(error.what(),
              path +
                  ": version 7, made by an older moelab; this program reads version 8: `moe-db "
                  "check --fix --db " +
                  path + "` makes it version 8");
  }
  EXPECT_TRUE(snapshot(directory.path()) == before);
}

TEST_F(Version7, IsBroughtUpToDateByAWriterWithAllThatItHad) {
  const std::string before = contents();
  testing::internal::CaptureStdout();
  {
    const auto writer = open_writer(path);
    const std::string said = testing::internal::GetCapturedStdout();
    EXPECT_NE(said.find("version 7, made by an older moelab: making it version 8"),
              std::string::npos)
        << said;
    EXPECT_EQ(text(writer, "SELECT count(*) FROM program"), "1");
    EXPECT_EQ(text(writer, "SELECT count(*) FROM memory_plan"), "1");
    EXPECT_EQ(text(writer, "SELECT count(*) FROM span_view"), "12");
    EXPECT_TRUE(find_problems(writer, 1e9).empty());
  }
  EXPECT_EQ(contents(), before);
  auto writer = open_writer(path);
  const auto id = store_full_timeline(writer, 1, 7);
  EXPECT_EQ(text(writer, "SELECT count(*) FROM program"), "1") << "the one of before";
  EXPECT_EQ(load_op_edges(writer, id).size(), 2U);
}

TEST_F(Version7, CutShortItIsAsItWas) {
  const auto set_bytes = [&](const char* bytes) {
    SQLite::Database(path, SQLite::OPEN_READWRITE)
        .exec(std::string("PRAGMA ignore_check_constraints = ON; UPDATE allocation SET bytes = ") +
              bytes + " WHERE timeline_id = 2 AND rank = 1");
  };
  set_bytes("-1 - bytes");  // of the last that is moved
  const std::string before = contents();
  EXPECT_THROW(open_writer(path), Error);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(kind_of([&] { open_reader(path); }), ErrorKind::older);
  set_bytes("-1 - bytes");
  const std::string mended = contents();
  { open_writer(path); }
  EXPECT_EQ(contents(), mended);
}

TEST_F(Version7, EarlierOnesLackTablesAndAColumn) {
  SQLite::Database(path, SQLite::OPEN_READWRITE)
      .exec(
          "DROP TABLE op_edge; DROP TABLE rank_group; DROP TABLE timeline_tensor;"
          "DROP TABLE allocation; ALTER TABLE timeline_op DROP COLUMN group_kind");
  EXPECT_EQ(kind_of([&] { open_reader(path); }), ErrorKind::older);
  const auto writer = open_writer(path);
  EXPECT_EQ(load_timeline_ops(writer, 2).at(1).group_kind, "");
  EXPECT_TRUE(load_op_edges(writer, 2).empty());
  EXPECT_TRUE(find_problems(writer, 1e9).empty());
}

TEST_F(Version7, IsMergedOnceItIsUpToDate) {
  const std::string output = directory.file("all.db");
  EXPECT_EQ(kind_of([&] { merge_files({path}, output); }), ErrorKind::older);
  { open_writer(path); }
  EXPECT_EQ(merge_files({path}, output).at(0).timelines, 2);
}

}  // namespace
}  // namespace db::programs_test
