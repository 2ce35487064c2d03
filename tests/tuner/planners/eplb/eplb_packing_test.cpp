#include "tuner/planners/eplb/eplb_packing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "moe/rows/expert_slots.h"

namespace tuner::eplb_packing_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EplbPacking, CopiesTheExpertOfLargestLoadPerCopy) {
  // 90: 45 each with two, 30 with three; then 40.
  EXPECT_THAT(copies_by_load(std::vector<std::int64_t>{90, 40, 20}, 3, 8), ElementsAre(3, 2, 1));
  EXPECT_THAT(copies_by_load(std::vector<std::int64_t>{90, 40, 20}, 3, 2), ElementsAre(2, 2, 2));
  EXPECT_THAT(copies_by_load(std::vector<std::int64_t>{7}, 5, 1), ElementsAre(1));
}

double largest_per_copy(const std::vector<std::int64_t>& loads, const std::vector<int>& copies) {
  double most = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    most = std::max(most, static_cast<double>(loads[i]) / copies[i]);
  }
  return most;
}

/// The smallest largest load per copy of all ways to give the experts from `first` on `extra`
/// copies.
double least_of_all_copies(const std::vector<std::int64_t>& loads, std::vector<int>& copies,
                           std::size_t first, int extra, int most) {
  if (first == loads.size()) return largest_per_copy(loads, copies);
  double least = std::numeric_limits<double>::infinity();
  for (int more = 0; more <= std::min(extra, most - 1); ++more) {
    copies[first] = 1 + more;
    least = std::min(least, least_of_all_copies(loads, copies, first + 1, extra - more, most));
  }
  return least;
}

TEST(EplbPacking, NoOtherNumbersOfCopiesHaveASmallerLoadPerCopy) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::int64_t> loads(1 + random() % 5);
    for (auto& load : loads) load = static_cast<std::int64_t>(random() % 100);
    const int extra = static_cast<int>(random() % 5), most = 1 + static_cast<int>(random() % 4);
    const auto copies = copies_by_load(loads, extra, most);
    EXPECT_LE(std::accumulate(copies.begin(), copies.end(), 0),
              static_cast<int>(loads.size()) + extra);
    EXPECT_LE(*std::max_element(copies.begin(), copies.end()), most);
    std::vector<int> tried(loads.size(), 1);
    EXPECT_DOUBLE_EQ(largest_per_copy(loads, copies),
                     least_of_all_copies(loads, tried, 0, extra, most));
  }
}

TEST(EplbPacking, WorkedByHand) {
  // Members have experts 0 1, 2 3 and 4 5, and a slot more each. 90 and 60 get a second copy, then
  // 45 a third: copies of 30, 30 of expert 0 and 30 of expert 2 to pack. Members start with 30 +
  // 10, 30 + 10 and 10 + 10.
  const std::vector<std::int64_t> loads{90, 10, 60, 10, 10, 10};
  const auto placement = eplb_placement(loads, {3, 1, {}});
  EXPECT_THAT(placement.replicas,
              ElementsAre(moe::ReplicatedExpert{0, {1, 2}}, moe::ReplicatedExpert{2, {0}}));
  EXPECT_EQ(placement.rows_of_others, moe::RowsOfOthers::spread);
}

TEST(EplbPacking, StaysOnTheNodeWhereHierarchical) {
  std::mt19937 random(2);
  const EplbGroup group{6, 2, {0, 0, 0, 1, 1, 1}};
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int64_t> loads(12);
    for (auto& load : loads) load = static_cast<std::int64_t>(random() % 100);
    const auto placement = eplb_placement(loads, group);
    EXPECT_FALSE(placement.replicas.empty());
    for (const auto& replica : placement.replicas) {
      const int node = replica.expert / 6;
      for (const int holder : replica.holders) EXPECT_EQ(holder / 3, node);
    }
  }
  // A node of its own for each member leaves nowhere to go.
  EXPECT_THAT(eplb_placement(std::vector<std::int64_t>{9, 1}, {2, 1, {0, 1}}).replicas, IsEmpty());
}

/// The member that an expert belongs to: where the placement says, or in order.
int home_in(const moe::ExpertPlacement& placement, std::size_t expert, std::size_t experts,
            int members) {
  if (!placement.homes.empty()) return placement.homes[expert];
  return static_cast<int>(expert / (experts / static_cast<std::size_t>(members)));
}

/// Loads of members if every copy of an expert has an equal share of it, as EPLB counts.
std::vector<double> shared_loads(const std::vector<std::int64_t>& loads,
                                 const moe::ExpertPlacement& placement, int members) {
  std::vector<double> of_members(static_cast<std::size_t>(members), 0);
  std::vector<std::vector<int>> holders(loads.size());
  for (const auto& replica : placement.replicas) {
    holders[static_cast<std::size_t>(replica.expert)] = replica.holders;
  }
  for (std::size_t expert = 0; expert < loads.size(); ++expert) {
    auto& who = holders[expert];
    who.push_back(home_in(placement, expert, loads.size(), members));
    for (const int member : who) {
      of_members[static_cast<std::size_t>(member)] +=
          static_cast<double>(loads[expert]) / static_cast<double>(who.size());
    }
  }
  return of_members;
}

/// The least largest load of all placements with so many spare slots.
double least_of_all_placements(const std::vector<std::int64_t>& loads, int members, int expert,
                               std::vector<int>& free, moe::ExpertPlacement& placement) {
  const auto largest = [&] {
    const auto of_members = shared_loads(loads, placement, members);
    return *std::max_element(of_members.begin(), of_members.end());
  };
  if (expert == static_cast<int>(loads.size())) return largest();
  double least = std::numeric_limits<double>::infinity();
  const int home = home_in(placement, static_cast<std::size_t>(expert), loads.size(), members);
  for (unsigned set = 0; set < 1u << members; ++set) {
    if ((set >> home & 1u) != 0) continue;
    std::vector<int> left = free;
    moe::ReplicatedExpert replica{expert, {}};
    for (int member = 0; member < members; ++member) {
      if ((set >> member & 1u) == 0) continue;
      replica.holders.push_back(member);
      --left[static_cast<std::size_t>(member)];
    }
    if (*std::min_element(left.begin(), left.end()) < 0) continue;
    if (!replica.holders.empty()) placement.replicas.push_back(replica);
    least = std::min(least, least_of_all_placements(loads, members, expert + 1, left, placement));
    if (!replica.holders.empty()) placement.replicas.pop_back();
  }
  return least;
}

TEST(EplbPacking, OfExpertsThatAreElsewhereGoesByTheirHomes) {
  // As above, but members have 3 5, 0 1 and 2 4: they start with 10 + 10, 30 + 10 and 30 + 10.
  const std::vector<std::int64_t> loads{90, 10, 60, 10, 10, 10};
  const auto placement = eplb_placement(loads, {3, 1, {}, {1, 1, 2, 0, 2, 0}});
  EXPECT_THAT(placement.replicas,
              ElementsAre(moe::ReplicatedExpert{0, {0, 2}}, moe::ReplicatedExpert{2, {1}}));
}

TEST(EplbPacking, MovesFirstCopiesByHand) {
  // 3 copies of 30 of expert 0 to members 0 1 2, two of 30 of expert 2 to 0 and 1, which are the
  // least loaded, then 10 each of 1 and 3 to 2, of 4 to 0 and of 5 to 1: 70, 70 and 50. 0 and 2
  // stay at home.
  const std::vector<std::int64_t> loads{90, 10, 60, 10, 10, 10};
  const auto placement = eplb_moved_placement(loads, {3, 1, {}});
  EXPECT_THAT(placement.homes, ElementsAre(0, 2, 1, 2, 0, 1));
  EXPECT_THAT(placement.replicas,
              ElementsAre(moe::ReplicatedExpert{0, {1, 2}}, moe::ReplicatedExpert{2, {0}}));
  EXPECT_EQ(placement.rows_of_others, moe::RowsOfOthers::spread);
}

TEST(EplbPacking, WithFirstCopiesThatMoveIsLegalAndMoreEven) {
  std::mt19937 random(4);
  double stay = 0, move = 0;
  for (int i = 0; i < 200; ++i) {
    const bool hierarchical = i % 2 == 0;
    EplbGroup group{4, 1 + static_cast<int>(random() % 2), {}};
    if (hierarchical) group.node_of = {0, 0, 1, 1};
    std::vector<std::int64_t> loads(12 + i % 4);
    for (auto& load : loads) {
      load = 1 + static_cast<std::int64_t>(random() % (random() % 3 == 0 ? 300 : 40));
    }
    const auto placement = eplb_moved_placement(loads, group);
    const moe::ExpertSlots slots =
        moe::expert_slots(placement, 12 + i % 4, 4);  // throws where it is not
    EXPECT_LE(slots.replica_slots, group.spare_slots);
    for (const auto& replica : placement.replicas) {
      for (const int holder : replica.holders) {
        const int home = placement.homes[static_cast<std::size_t>(replica.expert)];
        if (!hierarchical) continue;
        EXPECT_EQ(holder / 2, home / 2);
      }
    }
    const auto largest = [&](const moe::ExpertPlacement& one) {
      const auto of_members = shared_loads(loads, one, 4);
      return *std::max_element(of_members.begin(), of_members.end());
    };
    stay += largest(eplb_placement(loads, group));
    move += largest(placement);
  }
  const std::string summary =
      fmt::format("largest load {:.3f} of that where they stay", move / stay);
  fmt::print("{}\n", summary);
  EXPECT_LT(move, 0.95 * stay) << summary;
}

TEST(EplbPacking, IsLegalAndNearTheBestOfAllPlacementsOfSmallLayers) {
  std::mt19937 random(3);
  double ratios = 0, worst = 0, at_home = 0;
  int drawn = 0;
  for (int i = 0; i < 200; ++i) {
    const int members = 2 + static_cast<int>(random() % 2),
              each = 1 + static_cast<int>(random() % 2);
    std::vector<std::int64_t> loads(static_cast<std::size_t>(members * each));
    for (auto& load : loads) {
      load = 1 + static_cast<std::int64_t>(random() % (random() % 3 == 0 ? 300 : 40));
    }
    const int spare = 1 + static_cast<int>(random() % 2);
    const auto placement = eplb_placement(loads, {members, spare, {}});
    std::vector<int> replicas(static_cast<std::size_t>(members), 0);
    for (const auto& replica : placement.replicas) {
      EXPECT_TRUE(std::is_sorted(replica.holders.begin(), replica.holders.end()));
      for (const int holder : replica.holders) ++replicas[static_cast<std::size_t>(holder)];
    }
    EXPECT_LE(*std::max_element(replicas.begin(), replicas.end()), spare);
    std::vector<int> free(replicas.size(), spare);
    moe::ExpertPlacement tried;
    const double least = least_of_all_placements(loads, members, 0, free, tried);
    const auto largest = [&](const moe::ExpertPlacement& one) {
      const auto of_members = shared_loads(loads, one, members);
      return *std::max_element(of_members.begin(), of_members.end());
    };
    const double ratio = largest(placement) / least;
    EXPECT_GE(ratio, 1 - 1e-12);
    ratios += ratio;
    worst = std::max(worst, ratio);
    at_home += largest({}) / least;
    ++drawn;
  }
  const std::string summary = fmt::format(
      "largest load {:.3f} of the least that is possible on average, {:.2f} at most; {:.2f} "
      "without",
      ratios / drawn, worst, at_home / drawn);
  fmt::print("{}\n", summary);
  EXPECT_LT(ratios / drawn, 1.15) << summary;
  EXPECT_LT(ratios, at_home) << summary;
}

}  // namespace
}  // namespace tuner::eplb_packing_test
