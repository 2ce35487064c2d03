#include "db/programs.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/console/progress.h"
#include "db/statement.h"
#include "db/store.h"
#include "db/transaction.h"

namespace db {
namespace {

/// A table whose rows are of a program or memory plan, and the view that shows them by timeline,
/// which was a table in version 7. `columns`: those of both that tell what is stored.
struct SharedTable {
  const char* name;
  const char* view;
  const char* columns;
};
constexpr SharedTable kOps{"program_op", "timeline_op",
                           "op, name, kind, activity, stream, phase, layer, chunk, chunks, "
                           "group_kind"};
constexpr SharedTable kEdges{"program_edge", "op_edge", "op, before"};
constexpr SharedTable kGroups{"program_group", "rank_group", "kind, rank, first_rank"};
constexpr SharedTable kTensors{"program_tensor", "timeline_tensor", "tensor, name, role, pool"};
constexpr SharedTable kOfProgram[] = {kOps, kEdges, kGroups, kTensors};
constexpr SharedTable kPlanned{"planned_tensor", "allocation",
                               "tensor, offset_bytes, bytes, first_op, last_op"};

constexpr const char* kViews[] = {kOps.view, kEdges.view, kGroups.view, kTensors.view,
                                  kPlanned.view};
constexpr const char* kTables[] = {"program",     "timeline_program", kOps.name,
                                   kEdges.name,   kGroups.name,       kTensors.name,
                                   "memory_plan", "timeline_memory",  kPlanned.name};

/// The text of rows, which equal rows have in common.
class Content {
 public:
  void begin_row() { rows_.emplace_back(); }
  void add(const std::string& cell) { rows_.back() += std::to_string(cell.size()) + ':' + cell; }
  void add(std::integral auto cell) { add(std::to_string(cell)); }
  void add(const std::optional<int>& cell) { add(cell ? std::to_string(*cell) : ""); }

  /// Ends the rows of one table; they may have come in any order.
  void end_table() {
    std::sort(rows_.begin(), rows_.end());
    for (const std::string& row : rows_) text_ += row + '\n';
    text_ += '\n';
    is_empty_ = is_empty_ && rows_.empty();
    rows_.clear();
  }

  bool is_empty() const { return is_empty_; }
  std::string hash() const { return content_hash(text_); }

 private:
  std::vector<std::string> rows_;
  std::string text_;
  bool is_empty_ = true;
};

/// Every column but the first, which says of which timeline the row is.
template <class Record>
void add_rows(Content& content, std::span<const Record> records) {
  for (const Record& record : records) {
    content.begin_row();
    std::apply(
        [&](const auto&, const auto&... column) { (content.add(record.*column.field), ...); },
        Table<Record>::columns);
  }
  content.end_table();
}

void add_rows(Content& content, const Connection& connection, const SharedTable& table,
              const std::string& where) {
  const std::string list = table.columns;
  const auto columns = static_cast<int>(std::ranges::count(list, ',')) + 1;
  Statement rows(connection, fmt::format("SELECT {} FROM {} WHERE {}", list, table.view, where));
  while (rows.step()) {
    content.begin_row();
    for (int i = 0; i < columns; ++i) {
      content.add(rows.value<std::optional<std::string>>(i).value_or(""));
    }
  }
  content.end_table();
}

struct Found {
  std::int64_t id = 0;
  bool is_new = false;
};

Found find_or_add(Connection& connection, const char* table, const std::string& hash) {
  Statement known(connection, fmt::format("SELECT id FROM {} WHERE hash = ?", table));
  known.bind(hash);
  if (known.step()) return {known.value<std::int64_t>(0), false};
  Statement(connection, fmt::format("INSERT INTO {} (hash) VALUES (?)", table)).bind(hash).run();
  return {sqlite3_last_insert_rowid(connection.handle()), true};
}

template <class Record>
void insert_rows(Connection& connection, const SharedTable& table, std::int64_t program_id,
                 std::span<const Record> records) {
  std::string places;
  for (int i = 0; i < column_count<Record>(); ++i) places += i == 0 ? "?" : ", ?";
  Statement statement(connection, fmt::format("INSERT INTO {} (program_id, {}) VALUES ({})",
                                              table.name, table.columns, places));
  for (Record record : records) {
    record.timeline_id = program_id;
    statement.bind_record(record).run();
  }
}

void set_program(Connection& connection, std::int64_t timeline_id, std::int64_t program_id) {
  Statement(connection, "INSERT INTO timeline_program (timeline_id, program_id) VALUES (?, ?)")
      .bind(timeline_id, program_id)
      .run();
}

void set_plan(Connection& connection, std::int64_t timeline_id, int rank, std::int64_t plan_id) {
  Statement(connection, "INSERT INTO timeline_memory (timeline_id, rank, plan_id) VALUES (?, ?, ?)")
      .bind(timeline_id, rank, plan_id)
      .run();
}

void copy_rows(Connection& connection, const SharedTable& table, const char* owner,
               std::int64_t owner_id, const std::string& where) {
  Statement(connection,
            fmt::format("INSERT INTO {} ({}, {}) SELECT {}, {} FROM {} WHERE {}", table.name, owner,
                        table.columns, owner_id, table.columns, table.view, where))
      .run();
}

void share_program_of(Connection& connection, std::int64_t timeline_id) {
  const std::string where = fmt::format("timeline_id = {}", timeline_id);
  Content content;
  for (const SharedTable& table : kOfProgram) add_rows(content, connection, table, where);
  if (content.is_empty()) return;
  const Found program = find_or_add(connection, "program", content.hash());
  if (program.is_new) {
    for (const SharedTable& table : kOfProgram) {
      copy_rows(connection, table, "program_id", program.id, where);
    }
  }
  set_program(connection, timeline_id, program.id);
}

/// Earlier files of version 7 lack some of its tables, and a column.
void add_tables_of_version_7(const Connection& connection) {
  const auto has = [&](const char* sql) { return Statement(connection, sql).step(); };
  for (const SharedTable& table : {kOps, kEdges, kGroups, kTensors, kPlanned}) {
    connection.database().exec(fmt::format("CREATE TABLE IF NOT EXISTS {} (timeline_id, {}{})",
                                           table.view, table.view == kPlanned.view ? "rank, " : "",
                                           table.columns));
  }
  if (!has("SELECT 1 FROM pragma_table_info('timeline_op') WHERE name = 'group_kind'")) {
    connection.database().exec(
        "ALTER TABLE timeline_op ADD COLUMN group_kind TEXT NOT NULL DEFAULT ''");
  }
}

void share_plan_of(Connection& connection, std::int64_t timeline_id, int rank) {
  const std::string where = fmt::format("timeline_id = {} AND rank = {}", timeline_id, rank);
  Content content;
  add_rows(content, connection, kPlanned, where);
  const Found plan = find_or_add(connection, "memory_plan", content.hash());
  if (plan.is_new) copy_rows(connection, kPlanned, "plan_id", plan.id, where);
  set_plan(connection, timeline_id, rank, plan.id);
}

}  // namespace

void store_program(Connection& connection, std::int64_t timeline_id,
                   std::span<const TimelineOp> ops, std::span<const OpEdge> edges,
                   std::span<const RankGroup> groups, std::span<const TimelineTensor> tensors) {
  Content content;
  add_rows(content, ops);
  add_rows(content, edges);
  add_rows(content, groups);
  add_rows(content, tensors);
  if (content.is_empty()) return;
  const Found program = find_or_add(connection, "program", content.hash());
  if (program.is_new) {
    insert_rows(connection, kOps, program.id, ops);
    insert_rows(connection, kEdges, program.id, edges);
    insert_rows(connection, kGroups, program.id, groups);
    insert_rows(connection, kTensors, program.id, tensors);
  }
  set_program(connection, timeline_id, program.id);
}

void store_memory_plans(Connection& connection, std::int64_t timeline_id,
                        std::span<const Allocation> allocations) {
  std::map<int, std::vector<const Allocation*>> by_rank;
  for (const Allocation& of : allocations) by_rank[of.rank].push_back(&of);
  Statement insert(connection, fmt::format("INSERT INTO planned_tensor (plan_id, {}) "
                                           "VALUES (?, ?, ?, ?, ?, ?)",
                                           kPlanned.columns));
  for (const auto& [rank, of_rank] : by_rank) {
    Content content;
    for (const Allocation* of : of_rank) {
      content.begin_row();
      content.add(of->tensor);
      content.add(of->offset_bytes);
      content.add(of->bytes);
      content.add(of->first_op);
      content.add(of->last_op);
    }
    content.end_table();
    const Found plan = find_or_add(connection, "memory_plan", content.hash());
    if (plan.is_new) {
      for (const Allocation* of : of_rank) {
        insert.bind(plan.id, of->tensor, of->offset_bytes, of->bytes, of->first_op, of->last_op)
            .run();
      }
    }
    set_plan(connection, timeline_id, rank, plan.id);
  }
}

void forget_program(Connection& connection, std::int64_t timeline_id) {
  for (const char* table : {"timeline_program", "timeline_memory"}) {
    Statement(connection, fmt::format("DELETE FROM {} WHERE timeline_id = ?", table))
        .bind(timeline_id)
        .run();
  }
}

std::int64_t remove_unused_programs(Connection& connection) {
  std::int64_t removed = 0;
  for (const char* sql :
       {"DELETE FROM program WHERE id NOT IN (SELECT program_id FROM timeline_program)",
        "DELETE FROM memory_plan WHERE id NOT IN (SELECT plan_id FROM timeline_memory)"}) {
    Statement(connection, sql).run();
    removed += sqlite3_changes(connection.handle());
  }
  return removed;
}

std::span<const char* const> tables_of_programs() { return kTables; }

void share_programs(Connection& connection) {
  Transaction transaction(connection, "store what timelines share once");
  add_tables_of_version_7(connection);
  std::vector<std::int64_t> timelines;
  Statement ids(connection, "SELECT id FROM timeline ORDER BY id");
  while (ids.step()) timelines.push_back(ids.value<std::int64_t>(0));
  Progress progress(connection.path() + ": storing once what timelines share",
                    static_cast<double>(timelines.size()));
  std::size_t done = 0;
  for (const std::int64_t timeline : timelines) {
    progress.at(static_cast<double>(done++));
    share_program_of(connection, timeline);
    std::vector<int> ranks;
    Statement with_memory(connection,
                          "SELECT DISTINCT rank FROM allocation WHERE timeline_id = ? "
                          "AND rank BETWEEN 0 AND 2147483647");
    with_memory.bind(timeline);
    while (with_memory.step()) ranks.push_back(with_memory.value<int>(0));
    for (const int rank : ranks) share_plan_of(connection, timeline, rank);
  }
  for (const char* table : kViews) connection.database().exec(fmt::format("DROP TABLE {}", table));
  transaction.commit();
}

}  // namespace db
