#include "db/memory_copy.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "db/load.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::memory_copy_test {
namespace {

TEST(MemoryCopy, HoldsAllAndLeavesTheFileAsItWas) {
  const std::string path = std::filesystem::path(::testing::TempDir()) /
                           ("memory_copy_test" + std::to_string(getpid()) + ".db");
  std::filesystem::remove(path);
  Connection file = open_writer(path);  // with a log beside it
  const Sample sample = store_sample(file);
  Connection copy = copy_in_memory(path);
  EXPECT_EQ(load_trials(copy, sample.study).size(), load_trials(file, sample.study).size());
  const db::Run run = sample_run(sample.machine);
  insert(copy, run);
  EXPECT_EQ(load_runs(copy).size(), load_runs(file).size() + 1);
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
}

TEST(MemoryCopy, OfNoFileIsEmptyAndMakesNone) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / "no_such_file.db";
  EXPECT_TRUE(load_runs(copy_in_memory(path)).empty());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MemoryCopy, OfALockedFileIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.db");
  fill(path);
  SQLite::Database writer(path, SQLite::OPEN_READWRITE);
  writer.exec("PRAGMA journal_mode = DELETE");
  const auto file = open_reader(path, {.busy_timeout_s = 0});
  writer.exec("BEGIN EXCLUSIVE");
  auto copy = open_writer(":memory:");
  EXPECT_EQ(kind_of([&] { copy_content(file, copy); }), ErrorKind::locked);
  writer.exec("COMMIT");
  copy_content(file, copy);
  EXPECT_EQ(load_runs(copy).size(), 1U);
}

}  // namespace
}  // namespace db::memory_copy_test
