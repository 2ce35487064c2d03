#include "db/merge.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "db/console/output_target.h"
#include "db/run_chain.h"
#include "db/statement.h"
#include "db/transaction.h"

namespace db {
namespace {

/// A table as this version makes it.
struct MergedTable {
  std::string name;
  std::vector<std::string> columns;
  std::map<std::size_t, std::string> refers_to;  ///< by column: the table whose ids it holds
  bool has_id = false;                           ///< the first column is its id
  /// The first column says of which row of kShared a row is a part.
  bool is_part_of_shared = false;
};

/// The column that tells equal rows of a table, of those that are stored once per content.
const std::map<std::string, std::string> kShared{
    {"machine", "fingerprint"}, {"schedule", "hash"}, {"program", "hash"}, {"memory_plan", "hash"}};

/// All tables of rows, those that a table refers to before it.
std::vector<MergedTable> tables_in_order() {
  const Connection wanted = open_writer(":memory:");
  std::vector<MergedTable> waiting;
  Statement names(wanted,
                  "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'file_identity' "
                  "ORDER BY rowid");
  while (names.step()) {
    MergedTable& table = waiting.emplace_back();
    table.name = names.value<std::string>(0);
    std::map<std::string, std::string> references;
    std::set<std::string> parts;
    Statement keys(wanted,
                   "SELECT \"from\", \"table\", on_delete = 'CASCADE' "
                   "FROM pragma_foreign_key_list(?)");
    keys.bind(table.name);
    while (keys.step()) {
      references[keys.value<std::string>(0)] = keys.value<std::string>(1);
      const bool belongs = keys.value<int>(2) != 0 && kShared.contains(keys.value<std::string>(1));
      if (belongs) parts.insert(keys.value<std::string>(0));
    }
    Statement columns(wanted, "SELECT name FROM pragma_table_info(?) ORDER BY cid");
    columns.bind(table.name);
    while (columns.step()) {
      const auto column = columns.value<std::string>(0);
      if (const auto found = references.find(column); found != references.end()) {
        table.refers_to[table.columns.size()] = found->second;
      }
      table.columns.push_back(column);
    }
    table.has_id = table.columns.front() == "id";
    table.is_part_of_shared = parts.contains(table.columns.front());
  }
  std::vector<MergedTable> ordered;
  std::set<std::string> placed;
  while (!waiting.empty()) {
    const auto next = std::ranges::find_if(waiting, [&](const MergedTable& table) {
      return std::ranges::all_of(table.refers_to, [&](const auto& reference) {
        return reference.second == table.name || placed.contains(reference.second);
      });
    });
    placed.insert(next->name);
    ordered.push_back(std::move(*next));
    waiting.erase(next);
  }
  return ordered;
}

int place_of(const MergedTable& table, const std::string& column) {
  return static_cast<int>(std::ranges::find(table.columns, column) - table.columns.begin());
}

/// What rows of the file are called here.
class NewIds {
 public:
  std::int64_t of(const std::string& table, std::int64_t old) const {
    if (const auto shared = shared_.find(table); shared != shared_.end()) {
      const auto found = shared->second.find(old);
      return found == shared->second.end() ? 0 : found->second;
    }
    const auto found = added_.find(table);
    return old + (found == added_.end() ? 0 : found->second);
  }
  std::string study(const std::string& name) const {
    const auto found = studies_.find(name);
    return found == studies_.end() ? name : found->second;
  }
  void add_to(const std::string& table, std::int64_t added) { added_[table] = added; }
  void rename_study(const std::string& name, const std::string& now) { studies_[name] = now; }
  void share(const std::string& table, std::int64_t old, std::int64_t now, bool is_new) {
    shared_[table][old] = now;
    if (!is_new) known_[table].insert(old);
  }
  /// Whether a row of kShared was here before.
  bool is_known(const std::string& table, std::int64_t old) const {
    const auto found = known_.find(table);
    return found != known_.end() && found->second.contains(old);
  }

 private:
  std::map<std::string, std::int64_t> added_;
  std::map<std::string, std::map<std::int64_t, std::int64_t>> shared_;
  std::map<std::string, std::set<std::int64_t>> known_;
  std::map<std::string, std::string> studies_;
};

void renumber_runs(nlohmann::json& list, const NewIds& ids) {
  if (list.is_number_integer()) list = ids.of("run", list.get<std::int64_t>());
  if (list.is_array()) {
    for (nlohmann::json& entry : list) renumber_runs(entry, ids);
  }
}

/// JSON that names rows: the runs of a study, and what a micro-profile is of.
std::optional<std::string> renumbered(const std::string& table, const std::string& column,
                                      const std::string& text, const NewIds& ids) {
  const bool of_study = table == "study" && column.ends_with("_runs_json");
  const bool of_measurement = table == "measurement" && column == "parameters_json";
  if (!of_study && !of_measurement) return std::nullopt;
  constexpr bool kThrows = false;
  auto json = nlohmann::json::parse(text, nullptr, kThrows);
  if (json.is_discarded()) return std::nullopt;
  if (of_study) {
    renumber_runs(json, ids);
    return json.dump();
  }
  if (!json.is_object() || !json.contains("study") || !json.contains("schedule")) {
    return std::nullopt;
  }
  if (json["study"].is_string()) json["study"] = ids.study(json["study"].get<std::string>());
  for (const char* row : {"schedule", "run"}) {
    const auto found = json.find(row);
    if (found != json.end() && found->is_number_integer()) {
      *found = ids.of(row, found->get<std::int64_t>());
    }
  }
  return json.dump();
}

using RawStatement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

void expect_ok(const Connection& connection, int code, const char* doing) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  throw translate(sqlite3_extended_errcode(connection.handle()),
                  sqlite3_errmsg(connection.handle()), connection.handle(), connection.path(),
                  doing, connection.busy_timeout_s());
}

RawStatement prepared(const Connection& connection, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  expect_ok(connection,
            sqlite3_prepare_v2(connection.handle(), sql.c_str(), -1, &statement, nullptr), "merge");
  return {statement, &sqlite3_finalize};
}

std::string text_of(sqlite3_stmt* row, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text == nullptr ? "" : std::string(text);
}

/// Copies rows of a file. Not by records: what this version does not know in detail goes along.
class Merge {
 public:
  Merge(Connection& into, const Connection& from)
      : into_(into), from_(from), tables_(tables_in_order()) {}

  Merged run() {
    refuse_known_runs();
    merged_.new_runs = last_id("run");
    for (const MergedTable& table : tables_) {
      if (table.has_id && !kShared.contains(table.name)) {
        ids_.add_to(table.name, last_id(table.name));
      }
    }
    rename_studies();
    for (const MergedTable& table : tables_) {
      const std::int64_t rows = copy(table);
      if (table.name == "run") merged_.runs = rows;
      if (table.name == "study") merged_.studies = rows;
      if (table.name == "timeline") merged_.timelines = rows;
    }
    return merged_;
  }

 private:
  std::int64_t last_id(const std::string& table) const {
    Statement statement(into_, fmt::format("SELECT coalesce(max(id), 0) FROM {}", table));
    statement.step();
    return statement.value<std::int64_t>(0);
  }

  void refuse_known_runs() const {
    Statement runs(from_,
                   "SELECT run.id, run.kind || ' ' || run.name, run.started_at, run.pid, "
                   "machine.hostname FROM run JOIN machine ON machine.id = run.machine_id");
    while (runs.step()) {
      const RunIdentity identity{runs.value<double>(2), runs.value<std::int64_t>(3),
                                 runs.value<std::string>(4)};
      if (const auto known = find_run(into_, identity)) {
        throw Error(
            ErrorKind::invalid,
            fmt::format("{}: run {} ({}) is run {} of what was merged before: one file is a "
                        "copy of another, or of a part of it",
                        from_.path(), runs.value<std::int64_t>(0), runs.value<std::string>(1),
                        *known));
      }
    }
  }

  /// The id of a machine or schedule of the same content here, if there is one.
  std::optional<std::int64_t> known_id(const MergedTable& table, sqlite3_stmt* row) const {
    const std::string& key = kShared.at(table.name);
    Statement known(into_, fmt::format("SELECT id FROM {} WHERE {} = ?", table.name, key));
    const std::string text = text_of(row, place_of(table, key));
    known.bind(text);
    if (!known.step()) return std::nullopt;
    return known.value<std::int64_t>(0);
  }

  void rename_studies() {
    const std::string stem = std::filesystem::path(from_.path()).stem().string();
    const auto is_taken = [](const Connection& in, const std::string& name) {
      Statement taken(in, "SELECT 1 FROM study WHERE name = ?");
      taken.bind(name);
      return taken.step();
    };
    Statement names(from_, "SELECT name FROM study ORDER BY id");
    while (names.step()) {
      const auto name = names.value<std::string>(0);
      if (!is_taken(into_, name)) continue;
      std::string now = fmt::format("{} ({})", name, stem);
      for (int number = 2; is_taken(into_, now) || is_taken(from_, now); ++number) {
        now = fmt::format("{} ({} {})", name, stem, number);
      }
      ids_.rename_study(name, now);
      merged_.renamed.emplace_back(name, now);
    }
  }

  std::optional<std::string> other_text(const MergedTable& table, std::size_t column,
                                        sqlite3_stmt* row) {
    const std::string& name = table.columns[column];
    const bool names_study =
        name == "name" &&
        (table.name == "study" ||
         (table.name == "run" && text_of(row, place_of(table, "kind")) == "study"));
    if (!names_study && !name.ends_with("_json")) return std::nullopt;
    const std::string text = text_of(row, static_cast<int>(column));
    return names_study ? ids_.study(text) : renumbered(table.name, name, text, ids_);
  }

  void bind(const MergedTable& table, sqlite3_stmt* row, sqlite3_stmt* insert) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const int column = static_cast<int>(i);
      const bool is_number = sqlite3_column_type(row, column) == SQLITE_INTEGER;
      const auto refers = table.refers_to.find(i);
      if (is_number && (refers != table.refers_to.end() || (i == 0 && table.has_id))) {
        const std::string& of = refers == table.refers_to.end() ? table.name : refers->second;
        sqlite3_bind_int64(insert, column + 1, ids_.of(of, sqlite3_column_int64(row, column)));
      } else if (const auto text = other_text(table, i, row)) {
        sqlite3_bind_text(insert, column + 1, text->data(), static_cast<int>(text->size()),
                          SQLITE_TRANSIENT);
      } else {
        sqlite3_bind_value(insert, column + 1, sqlite3_column_value(row, column));
      }
    }
  }

  std::int64_t copy(const MergedTable& table) {
    std::string columns, places;
    for (const std::string& column : table.columns) {
      columns += (columns.empty() ? "" : ", ") + column;
      places += places.empty() ? "?" : ", ?";
    }
    const RawStatement rows =
        prepared(from_, fmt::format("SELECT {} FROM main.{}", columns, table.name));
    const RawStatement insert = prepared(
        into_, fmt::format("INSERT INTO main.{} ({}) VALUES ({})", table.name, columns, places));
    const bool is_shared = kShared.contains(table.name);
    std::int64_t count = 0;
    for (;; ++count) {
      const int code = sqlite3_step(rows.get());
      expect_ok(from_, code, "read rows to merge");
      if (code == SQLITE_DONE) return count;
      const std::int64_t old = sqlite3_column_int64(rows.get(), 0);
      if (table.is_part_of_shared && ids_.is_known(table.refers_to.at(0), old)) continue;
      if (is_shared) {
        if (const auto known = known_id(table, rows.get())) {
          ids_.share(table.name, old, *known, false);
          continue;
        }
        ids_.share(table.name, old, last_id(table.name) + 1, true);
      }
      bind(table, rows.get(), insert.get());
      expect_ok(into_, sqlite3_step(insert.get()), "merge rows");
      sqlite3_reset(insert.get());
    }
  }

  Connection& into_;
  const Connection& from_;
  std::vector<MergedTable> tables_;
  NewIds ids_;
  Merged merged_;
};

/// Removes a database that was begun.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((path_ + suffix).c_str());
  }

 private:
  std::string path_;
};

}  // namespace

Merged merge_from(Connection& into, const std::string& file) {
  const Connection from = open_reader(file);
  Statement(from, "BEGIN").run();  // so that all tables are of one moment while others write
  Transaction transaction(into, fmt::format("merge {}", file));
  const Merged merged = Merge(into, from).run();
  transaction.commit();
  return merged;
}

std::vector<Merged> merge_files(const std::vector<std::string>& files, const std::string& output) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    open_reader(files[i]);
    for (std::size_t j = 0; j < i; ++j) {
      if (same_file(files[i], files[j])) {
        throw Error(ErrorKind::invalid, fmt::format("{}: is named twice", files[i]));
      }
    }
  }
  std::error_code ignored;
  if (std::filesystem::exists(output, ignored)) {
    throw Error(ErrorKind::invalid,
                fmt::format("{}: is there already: name a new file for the output, and this one "
                            "among the files to merge",
                            output));
  }
  const std::string temporary = fmt::format("{}.merging-{}", output, getpid());
  const Unfinished removed_at_end(temporary);
  std::vector<Merged> merged;
  {
    Connection into = open_writer(temporary);
    for (const std::string& file : files) merged.push_back(merge_from(into, file));
    into.require_in_place();
  }
  std::error_code failed;
  std::filesystem::rename(temporary, output, failed);
  if (failed) {
    throw Error(ErrorKind::read_only,
                fmt::format("{}: cannot be written: {}", output, failed.message()));
  }
  return merged;
}

}  // namespace db
