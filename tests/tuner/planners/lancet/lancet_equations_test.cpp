#include "tuner/planners/lancet/lancet_equations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>

namespace tuner::lancet_equations_test {
namespace {

using ::testing::ElementsAre;

TEST(Pipelined, OfOnePartIsTheSum) {
  const std::vector<PipelineStage> stages{{1, 2}, {3, 4}, {5, 0}};
  EXPECT_DOUBLE_EQ(pipelined_s(stages, 1), 15);
}

TEST(Pipelined, OverlapsPartsWithEachOther) {
  // Compute 1 1 | exchange 2 2 from 1 on | experts 1 from 3, 1 from 5.
  const std::vector<PipelineStage> stages{{1, 2}, {1, 0}};
  EXPECT_DOUBLE_EQ(pipelined_s(stages, 2), 6);
}

/// Longest path through the graph of waits, op by op.
double by_longest_path(const std::vector<PipelineStage>& stages, int parts) {
  std::map<std::pair<int, int>, double> memory;  // op, part -> end; op = 2 stage + is exchange
  const auto end_of = [&](const auto& self, int op, int part) -> double {
    if (op < 0 || part < 0) return 0;
    const auto known = memory.find({op, part});
    if (known != memory.end()) return known->second;
    const PipelineStage& stage = stages[static_cast<std::size_t>(op / 2)];
    const double start =
        std::max(self(self, op - 1, part),
                 part > 0 ? self(self, op, part - 1) : self(self, op - 2, parts - 1));
    const double end = start + (op % 2 == 0 ? stage.compute_s : stage.exchange_s);
    return memory[{op, part}] = end;
  };
  return end_of(end_of, 2 * static_cast<int>(stages.size()) - 1, parts - 1);
}

TEST(Pipelined, IsTheLongestPath) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> time(0.1, 3);
  for (int i = 0; i < 500; ++i) {
    std::vector<PipelineStage> stages;
    for (std::size_t s = 0; s < 1 + random() % 5; ++s)
      stages.push_back({time(random), time(random)});
    const int parts = 1 + static_cast<int>(random() % 8);
    EXPECT_NEAR(pipelined_s(stages, parts), by_longest_path(stages, parts), 1e-9);
  }
}

/// Finds the best by trying every division of [first, count) into ranges.
template <class Price>
double least_seconds(int first, int count, const std::vector<int>& parts, const Price& price) {
  if (first == count) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (int end = first + 1; end <= count; ++end) {
    double range = price(first, end, 1);
    for (const int k : parts) range = std::min(range, price(first, end, k));
    least = std::min(least, range + least_seconds(end, count, parts, price));
  }
  return least;
}

TEST(BestRanges, AreTheBestOfAllWaysToCut) {
  std::mt19937 random(5);
  const std::vector<int> parts{2, 4};
  for (int i = 0; i < 200; ++i) {
    const int count = 1 + static_cast<int>(random() % 7);
    std::map<std::vector<int>, double> prices;
    const auto price = [&](int first, int end, int k) {
      const auto [entry, added] = prices.try_emplace({first, end, k}, 0);
      if (added) {
        const bool illegal = k > 1 && random() % 3 == 0;
        entry->second = illegal ? std::numeric_limits<double>::infinity()
                                : std::uniform_real_distribution<double>(0.1, 5)(random);
      }
      return entry->second;
    };
    const auto ranges = best_ranges(count, parts, price);
    double seconds = 0;
    int end = 0;
    for (const InstructionRange& range : ranges) {
      EXPECT_EQ(range.first, end);
      end = range.end;
      seconds += price(range.first, range.end, range.parts);
    }
    EXPECT_EQ(end, count);
    EXPECT_NEAR(seconds, least_seconds(0, count, parts, price), 1e-9);
  }
}

}  // namespace
}  // namespace tuner::lancet_equations_test
