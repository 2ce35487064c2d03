#include "moe/rows/late_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace moe {
namespace {

const std::vector<std::int64_t> kRows{160, 90, 32, 32, 8, 36, 30, 12};
const std::vector<int> kHomes{0, 0, 1, 1, 2, 2, 3, 3};

/// "10@0 36@1": who computes the rows of an expert.
std::string text(const std::vector<MemberRows>& of_expert) {
  std::string result;
  for (const MemberRows& one : of_expert) {
    if (!result.empty()) result += ' ';
    result += std::to_string(one.rows) + '@' + std::to_string(one.member);
  }
  return result;
}

std::string first_two(const LateCopies& copies) {
  const LatePlan plan = late_plan(copies, kRows, kHomes, 4);
  for (std::size_t expert = 2; expert < plan.size(); ++expert) {
    EXPECT_EQ(plan[expert].size(), 1u) << "expert " << expert << " stays at home";
  }
  return text(plan[0]) + ", " + text(plan[1]);
}

// Worked by hand from the rules.
TEST(LateRules, OfFourRanks) {
  EXPECT_EQ(first_two({LateRule::llep, 8, 1.0, 1}), "10@0 36@1 56@2 58@3, 90@0");
  EXPECT_EQ(first_two({LateRule::llep, 8, 1.1, 24}), "20@0 6@1 66@2 68@3, 90@0");
  EXPECT_EQ(first_two({LateRule::ultraep, 1}), "10@0 36@1 56@2 58@3, 90@0");
  EXPECT_EQ(first_two({LateRule::ultraep, 2}), "10@0 36@1 56@2 58@3, 90@0");
  EXPECT_EQ(first_two({LateRule::moonep, 2}), "46@0 56@2 58@3, 54@0 36@1");
}

TEST(LateRules, ComputeEveryRowOnceWithinTheSlots) {
  std::mt19937 random(1);
  for (int drawn = 0; drawn < 500; ++drawn) {
    const int members = 2 + static_cast<int>(random() % 7);
    const int experts = members + static_cast<int>(random() % 20);
    LateCopies copies{static_cast<LateRule>(random() % 3), 1 + static_cast<int>(random() % 4)};
    copies.alpha = 1 + 0.1 * static_cast<double>(random() % 4);
    copies.least_rows = 1 + static_cast<std::int64_t>(random() % 40);
    std::vector<std::int64_t> rows;
    std::vector<int> homes;
    for (int expert = 0; expert < experts; ++expert) {
      rows.push_back(random() % 4 == 0 ? 0 : random() % (random() % 4 == 0 ? 2000 : 60));
      homes.push_back(expert < members ? expert : static_cast<int>(random() % members));
    }
    const LatePlan plan = late_plan(copies, rows, homes, members);
    std::vector<std::int64_t> load(members), before(members);
    std::vector<int> replicas(members);
    for (int expert = 0; expert < experts; ++expert) {
      const auto& of_expert = plan[expert];
      std::int64_t sum = 0;
      EXPECT_EQ(of_expert.front().member, homes[expert]);
      for (std::size_t i = 0; i < of_expert.size(); ++i) {
        EXPECT_GE(of_expert[i].rows, i == 0 ? 0 : 1);
        if (i > 0) ++replicas[of_expert[i].member];
        if (i > 1) {
          EXPECT_LT(of_expert[i - 1].member, of_expert[i].member);
        }
        sum += of_expert[i].rows;
        load[of_expert[i].member] += of_expert[i].rows;
      }
      EXPECT_EQ(sum, rows[expert]);
      before[homes[expert]] += rows[expert];
    }
    EXPECT_LE(std::ranges::max(replicas), copies.slots);
    EXPECT_LE(std::ranges::max(load), std::ranges::max(before));
  }
}

TEST(LateRules, InNodesMoveNothingOutOfThem) {
  const std::vector<int> nodes{0, 0, 1, 1};
  LateCopies copies{LateRule::moonep, 2};
  copies.domain = LateDomain::node;
  const LatePlan plan = late_plan_in_domains(copies, kRows, kHomes, nodes);
  std::vector<std::int64_t> load(4);
  for (std::size_t expert = 0; expert < plan.size(); ++expert) {
    for (const MemberRows& one : plan[expert]) {
      EXPECT_EQ(nodes[one.member], nodes[kHomes[expert]]);
      load[one.member] += one.rows;
    }
  }
  EXPECT_EQ(load, (std::vector<std::int64_t>{157, 157, 43, 43}));  // 250 + 64, 44 + 42
  const std::vector<int> one_node(4), none{0, 1, 2, 3};
  EXPECT_EQ(text(late_plan_in_domains(copies, kRows, kHomes, one_node)[0]), "46@0 56@2 58@3");
  EXPECT_EQ(text(late_plan_in_domains(copies, kRows, kHomes, none)[0]), "160@0");
}

TEST(LateRules, WithSlotsForAllExpertsMoonEpIsEvenToTheRow) {
  std::mt19937 random(2);
  for (int drawn = 0; drawn < 100; ++drawn) {
    const int members = 2 + static_cast<int>(random() % 7),
              own = 1 + static_cast<int>(random() % 4);
    std::vector<std::int64_t> rows;
    std::vector<int> homes;
    for (int expert = 0; expert < members * own; ++expert) {
      rows.push_back(random() % (random() % 4 == 0 ? 2000 : 60));
      homes.push_back(expert / own);
    }
    std::vector<std::int64_t> load(members);
    for (const auto& of_expert : late_plan({LateRule::moonep, own}, rows, homes, members)) {
      for (const MemberRows& one : of_expert) load[one.member] += one.rows;
    }
    EXPECT_LE(std::ranges::max(load) - std::ranges::min(load), 1);
  }
}

}  // namespace
}  // namespace moe
