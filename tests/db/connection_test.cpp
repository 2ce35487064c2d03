#include "db/connection.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "db/load.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::connection_test {
namespace {

std::string text_pragma(const Connection& connection, const std::string& name) {
  SQLite::Statement statement(connection.database(), "PRAGMA " + name);
  statement.executeStep();
  return statement.getColumn(0).getString();
}

TEST(Connection, CreatesAWalDatabaseThatNamesMoelab) {
  const TemporaryDirectory directory;
  const auto connection = open_writer(directory.file("new.db"));
  EXPECT_EQ(text_pragma(connection, "journal_mode"), "wal");
  EXPECT_EQ(text_pragma(connection, "synchronous"), "1");
  EXPECT_EQ(text_pragma(connection, "foreign_keys"), "1");
  EXPECT_EQ(text_pragma(connection, "application_id"), std::to_string(kApplicationId));
  EXPECT_EQ(text_pragma(connection, "user_version"), std::to_string(current_schema().version));
}

TEST(Connection, HeaderNamesMoelabBeforeAnythingIsCheckpointed) {
  const TemporaryDirectory directory;
  const auto connection = open_writer(directory.file("new.db"));
  EXPECT_EQ(read_file(connection.path()).substr(68, 4), "moel");
}

TEST(Connection, OpensInMemory) {
  auto connection = open_writer(":memory:");
  EXPECT_NO_THROW(store_sample(connection));
}

TEST(Connection, TakesAnEmptyFileForANewDatabase) {
  const TemporaryDirectory directory;
  write_file(directory.file("empty.db"), "");
  EXPECT_NO_THROW(fill(directory.file("empty.db")));
  EXPECT_EQ(load_runs(open_reader(directory.file("empty.db"))).size(), 1U);
}

TEST(Connection, OpensNamesThatAUriWouldMisread) {
  const TemporaryDirectory directory;
  const auto path = directory.file("50% of a?b#c &d.db");
  fill(path);
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Connection, ReaderRefusesWhatIsNotThere) {
  const TemporaryDirectory directory;
  EXPECT_EQ(kind_of([&] { open_reader(directory.file("none.db")); }), ErrorKind::not_found);
  EXPECT_EQ(kind_of([&] { open_writer(directory.file("none/a.db")); }), ErrorKind::not_found);
  EXPECT_TRUE(snapshot(directory.path()).empty());
}

TEST(Connection, RefusesADirectory) {
  const TemporaryDirectory directory;
  EXPECT_EQ(kind_of([&] { open_reader(directory.path()); }), ErrorKind::not_a_database);
  EXPECT_EQ(kind_of([&] { open_writer(directory.path()); }), ErrorKind::not_a_database);
}

TEST(Connection, RefusesPipesAndDevicesWithoutReadingThem) {
  const TemporaryDirectory directory;
  ASSERT_EQ(mkfifo(directory.file("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", directory.file("link"));
  for (const std::string& path : {directory.file("pipe"), directory.file("link"),
                                  std::string("/dev/zero"), std::string("/dev/null")}) {
    EXPECT_EQ(kind_of([&] { open_reader(path); }), ErrorKind::not_a_database) << path;
    EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::not_a_database) << path;
  }
}

TEST(Connection, AWriterThatMayNotCreateSaysNoSuchFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(kind_of([&] { open_writer(directory.file("a.db"), {.create = false}); }),
            ErrorKind::not_found);
  EXPECT_TRUE(snapshot(directory.path()).empty());
  fill(directory.file("a.db"));
  EXPECT_NO_THROW(open_writer(directory.file("a.db"), {.create = false}));
}

TEST(Connection, ADashIsNoName) {
  EXPECT_EQ(kind_of([] { open_writer("-"); }), ErrorKind::invalid);
  EXPECT_EQ(kind_of([] { open_reader("-"); }), ErrorKind::invalid);
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST(Connection, ReaderRefusesAnEmptyFile) {
  const TemporaryDirectory directory;
  write_file(directory.file("empty.db"), "");
  EXPECT_EQ(kind_of([&] { open_reader(directory.file("empty.db")); }), ErrorKind::not_moelab);
  EXPECT_EQ(snapshot(directory.path()).size(), 1U);
}

TEST(Connection, ReadsFromAReadOnlyDiskAndRefusesToWriteThere) {
  const SmallDisk disk(4096);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto path = disk.file("a.db");
  fill(path);
  ASSERT_TRUE(disk.make_read_only());
  const auto before = snapshot(disk.path());
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::read_only);
  EXPECT_EQ(kind_of([&] { open_writer(disk.file("b.db")); }), ErrorKind::read_only);
  EXPECT_TRUE(snapshot(disk.path()) == before);
}

TEST(Connection, RefusesAReadOnlyFileOrDirectoryOfAnotherUser) {
  if (geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  fill(path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::read_only);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0500));
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
  EXPECT_EQ(kind_of([&] { open_writer(path); }), ErrorKind::read_only);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0700));
}

TEST(Connection, DoesNotHideRowsThatAReadOnlyDiskKeepsInTheLog) {
  const SmallDisk disk(4096);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const TemporaryDirectory directory;
  auto writer = open_writer(directory.file("a.db"));
  store_sample(writer);
  std::filesystem::copy_file(writer.path(), disk.file("a.db"));
  std::filesystem::copy_file(writer.path() + "-wal", disk.file("a.db-wal"));
  ASSERT_TRUE(disk.make_read_only());
  try {
    EXPECT_EQ(load_runs(open_reader(disk.file("a.db"))).size(), 1U);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::read_only);
    EXPECT_NE(std::string(error.what()).find("a.db-wal"), std::string::npos) << error.what();
  }
}

TEST(Connection, OnANetworkFileSystemThereIsNoLog) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  fill(path);  // with a log, as on a local disk
  const OpenOptions options{.network = [](const std::string&) { return std::optional("NFS"); }};
  auto connection = open_writer(path, options);
  EXPECT_EQ(text_pragma(connection, "journal_mode"), "delete");
  EXPECT_EQ(text_pragma(connection, "synchronous"), "2");
  insert(connection, sample_run(1));
  EXPECT_EQ(load_runs(open_reader(path)).size(), 2U);
  EXPECT_EQ(snapshot(directory.path()).size(), 1U);
  EXPECT_EQ(text_pragma(open_writer(path), "journal_mode"), "wal") << "moved to a local disk";
}

TEST(Connection, WhoeverIsTheLastLeavesNoLog) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  fill(path);
  EXPECT_EQ(snapshot(directory.path()).size(), 1U);
  { EXPECT_EQ(load_runs(open_reader(path)).size(), 1U); }
  EXPECT_EQ(snapshot(directory.path()).size(), 1U) << "a reader alone";
  {
    const auto reader = open_reader(path);
    { open_writer(path); }
    EXPECT_EQ(load_runs(reader).size(), 1U);
  }
  EXPECT_EQ(snapshot(directory.path()).size(), 1U) << "a reader that outlives a writer";
  {
    auto writer = open_writer(path);
    { open_reader(path); }
    insert(writer, sample_run(1));
    { EXPECT_EQ(load_runs(open_reader(path)).size(), 2U); }
    EXPECT_TRUE(std::filesystem::exists(path + "-wal")) << "the writer's";
  }
  EXPECT_EQ(snapshot(directory.path()).size(), 1U);
}

}  // namespace
}  // namespace db::connection_test
