#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/error.h"
#include "db/statement.h"
#include "tests/viewer/headless.h"
#include "tests/viewer/synthetic_database.h"
#include "viewer/app/app.h"
#include "viewer/report/page.h"
#include "viewer/report/study_facts.h"
#include "viewer/report/tables.h"
#include "viewer/timeline/timeline_panel.h"

/// Databases that no program of ours would write: awkward values, missing rows, damaged bytes. All
/// panels are drawn of them, or the database is refused. For longer by hand, best with the
/// preset `asan`:
///     MOE_VIEW_SEEDS=2000 build/asan/bin/viewer_tests --gtest_filter='DamagedDatabase.*'
namespace viewer::damaged_database_test {
namespace {

namespace fs = std::filesystem;

int wanted_seeds() {
  const char* given = std::getenv("MOE_VIEW_SEEDS");
  return given == nullptr ? 6 : std::atoi(given);
}

struct Column {
  std::string table;
  std::string name;
};

class DamagedDatabase : public ::testing::Test {
 protected:
  DamagedDatabase()
      : folder(fs::temp_directory_path() / ("moe_view_damaged_" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    db::Connection connection = db::open_writer(sound());
    fill_synthetic_database(connection);
    add_wide_run(connection, 12);
    db::Statement columns(connection,
                          "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c "
                          "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY 1, 2");
    while (columns.step()) {
      all.push_back({columns.value<std::string>(0), columns.value<std::string>(1)});
    }
  }
  ~DamagedDatabase() override { fs::remove_all(folder); }

  std::string sound() const { return (folder / "sound.db").string(); }
  std::string damaged() const { return (folder / "damaged.db").string(); }
  void copy() const {
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(damaged() + suffix);
    fs::copy_file(sound(), damaged(), fs::copy_options::overwrite_existing);
  }

  // Sets a column of some rows to a value, or removes the rows. What the tables refuse is left out.
  void change(const db::Connection& connection, std::mt19937& random) const {
    constexpr std::array kValues = {
        "NULL", "0",        "-1",         "1",     "2147483647",
        "''",   "1e308",    "-1e300",     "1e-12", "-2147483648",
        "'{'",  "'\xff x'", "'gradient'", "id",    "9223372036854775807"};
    const Column& column = all[random() % all.size()];
    const std::string rows =
        " WHERE rowid % " + std::to_string(1 + random() % 7) + " = " + std::to_string(random() % 3);
    const std::string value = kValues[random() % kValues.size()];
    const std::string sql = random() % 12 == 0 ? "DELETE FROM " + column.table + rows
                                               : "UPDATE OR IGNORE " + column.table + " SET " +
                                                     column.name + " = " + value + rows;
    try {
      db::Statement(connection, sql).run();
    } catch (const db::Error&) {
    }
  }

  // The words and tables of a report on the study of the selected run. Its pictures are the panels.
  static void report_on(Session& session) {
    try {
      const StudyFacts facts = gather_study(session);
      const std::vector<CsvTable> tables = csv_tables(session.connection, facts);
      EXPECT_THAT(report_page(facts, {}, tables, session.connection.path()),
                  testing::HasSubstr("</html>"));
    } catch (const db::Error& error) {  // refused with a reason
      EXPECT_STRNE(error.what(), "");
    }
  }

  // Every panel and table, for each run, with a span selected, and every report.
  void draw_all(const std::string& path) {
    const db::Connection connection = db::open_reader(path);
    App app{open_session(connection, {})};
    app.fonts = headless.fonts;
    const auto frame = [&] { headless.frame([&] { draw_app(app); }); };
    ImGui::GetIO().MousePos = {900, 250};
    for (const RunRow& run : std::vector<RunRow>(app.session.catalog.runs)) {
      select_run(app.session, run.id);
      for (const Panel& panel : all_panels()) {
        show_panel(app, panel.name);
        frame();
      }
      show_panel(app, "timeline");
      for (const std::string& table : figures_names()) {
        show_figures(app, table);
        frame();
      }
      const auto first =
          app.session.timelines.find(app.session.stacked.empty() ? 0 : app.session.stacked.front());
      if (first == app.session.timelines.end() || first->second.lanes.empty()) continue;
      app.states.of<TimelinePanel>().selected = StackPosition{0, {0, 0}};
      frame();
      report_on(app.session);
    }
  }

  fs::path folder;
  std::vector<Column> all;
  Headless headless;
};

TEST_F(DamagedDatabase, OfAwkwardValuesEveryPanelIsDrawn) {
  int drawn = 0;
  for (int seed = 1; seed <= wanted_seeds(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    copy();
    {
      const db::Connection connection = db::open_writer(damaged());
      db::Statement(connection, "PRAGMA ignore_check_constraints = ON").run();
      db::Statement(connection, "PRAGMA foreign_keys = OFF").run();
      for (int i = 0; i < 12; ++i) change(connection, random);
    }
    try {
      draw_all(damaged());
      ++drawn;
    } catch (const db::Error&) {  // refused with a reason
    }
  }
  EXPECT_GT(drawn, 0);
}

TEST_F(DamagedDatabase, OfDamagedBytesItIsDrawnOrRefusedWithItsName) {
  int refused = 0;
  for (int seed = 1; seed <= wanted_seeds(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    copy();
    std::fstream file(damaged(), std::ios::in | std::ios::out | std::ios::binary);
    const auto bytes = static_cast<std::uint32_t>(fs::file_size(damaged()));
    for (int i = 0; i < 40 * seed; ++i) {  // some do no harm
      file.seekp(random() % bytes);
      file.put(static_cast<char>(random()));
    }
    file.close();
    try {
      draw_all(damaged());
    } catch (const db::Error& error) {
      ++refused;
      EXPECT_THAT(error.what(), testing::HasSubstr(damaged()));
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace viewer::damaged_database_test
