#include "db/timeline/memory_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace db::memory_table_test {
namespace {

Allocation lasting(int rank, int tensor, std::int64_t offset, std::int64_t bytes) {
  Allocation row;
  row.rank = rank;
  row.tensor = tensor;
  row.offset_bytes = offset;
  row.bytes = bytes;
  return row;
}

Allocation passing(int rank, int tensor, std::int64_t offset, std::int64_t bytes, double begin_s,
                   double end_s) {
  Allocation row = lasting(rank, tensor, offset, bytes);
  row.first_op = 0, row.last_op = 1;
  row.begin_s = begin_s, row.end_s = end_s;
  return row;
}

// Rank 0: parameters of 100 bytes, then 40 from 1 to 3 s, 30 from 2 to 5 s, 25 from 3 to 4 s in the
// place of the 40, and 7 on the host. Rank 1 has less.
TimelineMemory memory() {
  return {{{1, 0, "weights", "parameter", "device"},
           {1, 1, "a", "activation", "device"},
           {1, 2, "b", "activation", "device"},
           {1, 3, "c", "activation", "device"},
           {1, 4, "away", "activation", "host"},
           {1, 5, "bias", "parameter", "device"}},
          {lasting(0, 0, 0, 90), lasting(0, 5, 90, 10), passing(0, 1, 100, 40, 1, 3),
           passing(0, 2, 140, 30, 2, 5), passing(0, 3, 100, 25, 3, 4),
           passing(0, 4, 0, 7, 2.5, 3.5), lasting(1, 0, 0, 90), passing(1, 1, 90, 20, 1, 3)}};
}

TEST(MemoryTable, TheLineIsWhatIsInUseFromEachMomentOn) {
  const MemoryTable table = build_memory_table(memory(), {});
  ASSERT_EQ(table.ranks.size(), 2U);
  const PoolUse& device = table.ranks[0].device;
  std::vector<std::pair<double, double>> steps;
  for (const MemoryStep& step : device.steps) steps.emplace_back(step.at_s, step.bytes);
  using Steps = std::vector<std::pair<double, double>>;
  EXPECT_EQ(steps, (Steps{{0, 100}, {1, 140}, {2, 170}, {3, 155}, {4, 130}, {5, 100}}));
  EXPECT_EQ(device.persistent_bytes, 100);
  EXPECT_EQ(device.peak.at_s, 2);
  EXPECT_EQ(device.peak.bytes, 170);
  EXPECT_EQ(device.planned_bytes, 170) << "the highest byte";
  EXPECT_EQ(table.ranks[0].host.peak.bytes, 7);
  EXPECT_TRUE(table.ranks[1].host.steps.empty());
  EXPECT_EQ(fullest_rank(table), &table.ranks[0]);
  EXPECT_EQ(memory_of(table, 1), &table.ranks[1]);
  EXPECT_EQ(memory_of(table, 2), nullptr);
}

TEST(MemoryTable, WhatStandsInMemoryAddsUpToTheLine) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> bytes(1, 1000), time(0, 40), pool(0, 4);
  TimelineMemory drawn;
  for (int tensor = 0; tensor < 60; ++tensor) {
    drawn.tensors.push_back({1, tensor, "t" + std::to_string(tensor),
                             tensor % 7 == 0 ? "parameter" : "activation",
                             pool(random) == 0 ? "host" : "device"});
    const int begin = time(random), end = begin + 1 + time(random);
    drawn.allocations.push_back(tensor % 7 == 0 ? lasting(3, tensor, 0, bytes(random))
                                                : passing(3, tensor, 0, bytes(random), begin, end));
  }
  const MemoryTable table = build_memory_table(drawn, {});
  ASSERT_EQ(table.ranks.size(), 1U);
  const RankMemory& rank = table.ranks[0];
  double most = 0;
  for (int half = 0; half < 170; ++half) {
    const double at_s = half / 2.0;
    double device = 0, host = 0;
    for (const MemoryItem& item : items_at(table, rank, at_s)) {
      (item.pool == "host" ? host : device) += item.bytes;
    }
    EXPECT_EQ(device, bytes_at(rank.device, at_s)) << at_s;
    EXPECT_EQ(host, bytes_at(rank.host, at_s)) << at_s;
    most = std::max(most, device);
  }
  EXPECT_EQ(most, rank.device.peak.bytes);
  EXPECT_EQ(bytes_at(rank.device, rank.device.peak.at_s), most);
}

TEST(MemoryTable, ItemsAreRolesThatLastThenTensorsLargestFirst) {
  const MemoryTable table = build_memory_table(memory(), {});
  const std::vector<MemoryItem> items = items_at(table, table.ranks[0], 3);
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(items[0].role, "parameter");
  EXPECT_EQ(items[0].tensors, 2U);
  EXPECT_EQ(items[0].bytes, 100);
  EXPECT_EQ(items[0].allocation, nullptr);
  EXPECT_EQ(items[1].name, "b");
  EXPECT_EQ(items[2].name, "c") << "a ended when c began";
  EXPECT_EQ(items[3].name, "away");
  EXPECT_EQ(items[3].pool, "host");
}

TEST(MemoryTable, WhatWasTouchedIsThatOfTheRunsRanks) {
  std::vector<RunRank> ranks(2);
  ranks[0].rank = 1;
  ranks[0].measured_peak_bytes = 105;
  ranks[1].rank = 9;
  ranks[1].measured_peak_bytes = 1;
  const MemoryTable table = build_memory_table(memory(), ranks);
  EXPECT_EQ(table.ranks[0].touched_bytes, std::nullopt);
  EXPECT_EQ(table.ranks[1].touched_bytes, 105);
}

TEST(MemoryTable, LeavesOutWhatNoMemoryCanHave) {
  TimelineMemory damaged = memory();
  damaged.allocations.push_back(passing(0, 99, 0, 1, 0, 1));
  damaged.allocations.push_back(passing(0, 1, -5, 1, 0, 1));
  damaged.allocations.push_back(passing(0, 1, 0, std::numeric_limits<std::int64_t>::max(), 0, 1));
  damaged.allocations.push_back(passing(0, 1, 0, 1, std::numeric_limits<double>::quiet_NaN(), 1));
  const MemoryTable table = build_memory_table(damaged, {});
  EXPECT_EQ(table.allocations.size(), memory().allocations.size());
  EXPECT_TRUE(build_memory_table({}, {}).ranks.empty());
  EXPECT_EQ(fullest_rank(build_memory_table({}, {})), nullptr);
}

}  // namespace
}  // namespace db::memory_table_test
