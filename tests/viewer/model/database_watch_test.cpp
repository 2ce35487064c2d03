#include "viewer/model/database_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "db/store.h"

namespace viewer::database_watch_test {
namespace {

namespace fs = std::filesystem;

class DatabaseWatchTest : public ::testing::Test {
 protected:
  DatabaseWatchTest()
      : folder(fs::temp_directory_path() / ("moe_view_watch_" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    db::open_writer(path());
  }
  ~DatabaseWatchTest() override { fs::remove_all(folder); }
  std::string path() const { return (folder / "results.db").string(); }

  fs::path folder;
};

TEST_F(DatabaseWatchTest, SeesWhatAnotherConnectionWritesOnce) {
  const db::Connection connection = db::open_reader(path());
  DatabaseWatch watch(connection);
  EXPECT_EQ(watch.look(), DatabaseChange::none);
  {
    db::Connection writer = db::open_writer(path());
    db::Machine machine;
    machine.fingerprint = "new";
    db::find_or_insert(writer, machine);
  }
  EXPECT_EQ(watch.look(), DatabaseChange::rows);
  EXPECT_EQ(watch.look(), DatabaseChange::none);
}

TEST_F(DatabaseWatchTest, SaysOnceThatTheFileIsGoneOrReplaced) {
  const db::Connection connection = db::open_reader(path());
  DatabaseWatch watch(connection);
  fs::rename(path(), folder / "moved.db");
  EXPECT_EQ(watch.look(), DatabaseChange::gone);
  EXPECT_EQ(watch.look(), DatabaseChange::none);
  db::open_writer(path());
  EXPECT_EQ(watch.look(), DatabaseChange::replaced);
  EXPECT_EQ(watch.look(), DatabaseChange::none);
  EXPECT_NE(change_text(DatabaseChange::gone, "a.db").find("a.db was deleted"), std::string::npos);
  EXPECT_EQ(change_text(DatabaseChange::rows, "a.db"), "");
}

}  // namespace
}  // namespace viewer::database_watch_test
