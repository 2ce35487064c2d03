#include "moe/memory/free_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace moe::free_memory_test {
namespace {

constexpr StreamProgress kNobody{}, kAll{9, 9, 9, 9, 9};

TEST(FreeMemory, GivesTheLowestThatNobodyTouches) {
  FreeMemory memory(100);
  EXPECT_EQ(memory.take(10, kNobody), 100);
  EXPECT_EQ(memory.take(20, kNobody), 110);
  EXPECT_EQ(memory.take(5, kNobody), 130);
  memory.give_back(110, 130, {3, 0, 0, 0, 0});
  EXPECT_EQ(memory.take(20, {2, 9, 9, 9, 9}), 135) << "somebody may still read what lies there";
  EXPECT_EQ(memory.take(8, {3, 0, 0, 0, 0}), 110);
  EXPECT_EQ(memory.take(12, {2, 0, 0, 0, 0}), 155) << "what is left of it is as it was";
  EXPECT_EQ(memory.take(12, kAll), 118);
  memory.restart(7);
  EXPECT_EQ(memory.take(1, kNobody), 7);
}

TEST(FreeMemory, JoinsNeighboursThatCameBackAtDifferentTimes) {
  FreeMemory memory(0);
  for (int i = 0; i < 4; ++i) memory.take(10, kNobody);
  memory.give_back(10, 20, {1, 0, 0, 0, 0});
  memory.give_back(0, 10, {0, 4, 0, 0, 0});
  memory.give_back(20, 30, kNobody);
  EXPECT_EQ(memory.take(25, {1, 3, 0, 0, 0}), 40) << "10 to 30 are free, and too small";
  EXPECT_EQ(memory.take(20, {1, 3, 0, 0, 0}), 10);
  EXPECT_EQ(memory.take(10, {0, 4, 0, 0, 0}), 0);
}

/// FreeMemory implemented by looking at every address.
class Addresses {
 public:
  std::int64_t take(std::int64_t bytes, const StreamProgress& known) {
    std::int64_t free = 0;
    for (std::int64_t address = 0;; ++address) {
      if (address == static_cast<std::int64_t>(until_.size())) until_.push_back(kNobody);
      const StreamProgress& until = until_[static_cast<std::size_t>(address)];
      const bool usable = std::equal(until.begin(), until.end(), known.begin(), std::less_equal());
      free = usable ? free + 1 : 0;
      if (free < bytes) continue;
      const std::int64_t begin = address + 1 - bytes;
      give_back(begin, address + 1, kInUse);
      return begin;
    }
  }
  void give_back(std::int64_t begin, std::int64_t end, const StreamProgress& until) {
    std::fill(until_.begin() + begin, until_.begin() + end, until);
  }

 private:
  static constexpr StreamProgress kInUse{1000, 0, 0, 0, 0};
  std::vector<StreamProgress> until_;
};

TEST(FreeMemory, AgreesWithALookAtEveryAddress) {
  std::mt19937 random(5);
  const auto below = [&](int end) { return static_cast<int>(random() % end); };
  const auto progress = [&] {
    StreamProgress drawn{};
    drawn[0] = below(4);
    drawn[1] = below(3);
    return drawn;
  };
  FreeMemory memory(0);
  Addresses addresses;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (int i = 0; i < 5000; ++i) {
    if (!taken.empty() && below(100) < (taken.size() < 60 ? 40 : 60)) {
      const std::size_t one = random() % taken.size();
      const StreamProgress until = progress();
      memory.give_back(taken[one].first, taken[one].second, until);
      addresses.give_back(taken[one].first, taken[one].second, until);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(one));
      continue;
    }
    const std::int64_t bytes = 1 + below(below(4) == 0 ? 40 : 6);
    const StreamProgress known = progress();
    const std::int64_t begin = memory.take(bytes, known);
    ASSERT_EQ(begin, addresses.take(bytes, known)) << "after " << i;
    taken.push_back({begin, begin + bytes});
  }
}

}  // namespace
}  // namespace moe::free_memory_test
