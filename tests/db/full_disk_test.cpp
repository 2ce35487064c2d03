#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "db/check.h"
#include "db/connection.h"
#include "db/load.h"
#include "tests/db/opened.h"
#include "tests/db/temporary_directory.h"

namespace db::full_disk_test {
namespace {

TEST(FullDisk, IsAnErrorThatStoresNothing) {
  const SmallDisk disk(1024);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto path = disk.file("a.db");
  fill(path);
  {
    auto connection = open_writer(path);
    TimelineInfo timeline;
    timeline.run_id = 1;
    timeline.kind = "measured";
    std::vector<Span> spans;
    for (int i = 0; i < 100000; ++i) spans.push_back(make_span(0, 0, i, 1));
    EXPECT_EQ(kind_of([&] { insert(connection, timeline, sample_ops(), spans); }),
              ErrorKind::disk_full);
    EXPECT_EQ(load_timelines(connection).size(), 2U);
    EXPECT_NO_THROW(heartbeat_run(connection, 1));  // the connection goes on
  }
  const auto connection = open_reader(path);
  EXPECT_TRUE(find_problems(connection, 60).empty());
  EXPECT_EQ(load_timelines(connection).size(), 2U);
}

TEST(FullDisk, LeavesTheFileByteForByte) {
  const SmallDisk disk(1024);
  if (!disk.mounted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto path = disk.file("a.db");
  fill(path);
  write_file(disk.file("ballast"), std::string(2 << 20, 'x'));
  const auto before = read_file(path);
  EXPECT_EQ(kind_of([&] {
              auto connection = open_writer(path);
              heartbeat_run(connection, 1);
            }),
            ErrorKind::disk_full);
  EXPECT_EQ(kind_of([&] { open_writer(disk.file("new.db")); }), ErrorKind::disk_full);
  EXPECT_TRUE(read_file(path) == before);
  EXPECT_FALSE(std::filesystem::exists(disk.file("new.db")));
}

TEST(FullDisk, APageLimitCountsAsOne) {
  auto connection = open_writer(":memory:");
  const auto sample = store_sample(connection);
  connection.database().exec("PRAGMA max_page_count = 1");  // means: not one page more than now
  std::vector<Load> loads;
  for (int i = 0; i < 100000; ++i) loads.push_back({sample.run, 100 + i, 0, 0, 0, 1});
  const auto before = load_loads(connection, {.run_id = sample.run});
  EXPECT_EQ(kind_of([&] { insert(connection, loads); }), ErrorKind::disk_full);
  EXPECT_EQ(load_loads(connection, {.run_id = sample.run}).size(), before.size());
}

}  // namespace
}  // namespace db::full_disk_test
