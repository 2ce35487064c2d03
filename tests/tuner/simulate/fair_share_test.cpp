#include "tuner/simulate/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tuner::fair_share_test {
namespace {

Path over(std::initializer_list<int> links) {
  Path path;
  std::copy(links.begin(), links.end(), path.links.begin());
  return path;
}

TEST(FairShare, ALinkIsSharedEqually) {
  const std::vector<Path> flows{over({0}), over({0}), over({0})};
  EXPECT_EQ(fair_share(flows, std::vector<double>{6}), (std::vector<double>{2, 2, 2}));
}

TEST(FairShare, WhatOneCannotUseTheOthersGet) {
  // Link 0 (capacity 10) carries both flows, link 1 (capacity 2) holds the first back.
  const std::vector<Path> flows{over({0, 1}), over({0})};
  EXPECT_EQ(fair_share(flows, std::vector<double>{10, 2}), (std::vector<double>{2, 8}));
}

TEST(FairShare, BottlenecksFillInOrder) {
  // The classic line of two links: one flow over both, one on each.
  const std::vector<Path> flows{over({0, 1}), over({0}), over({1})};
  EXPECT_EQ(fair_share(flows, std::vector<double>{1, 4}), (std::vector<double>{0.5, 0.5, 3.5}));
}

// Max-min fair: no link carries more than it can, and every flow has a full link on which nobody is
// faster.
TEST(FairShare, EveryFlowHasABottleneck) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const int links = 2 + static_cast<int>(random() % 8);
    std::vector<double> capacities;
    for (int l = 0; l < links; ++l) capacities.push_back(1 + static_cast<double>(random() % 100));
    std::vector<Path> flows(1 + random() % 20);
    for (Path& flow : flows) {
      auto next = flow.links.begin();
      for (int drawn = 0; drawn < 4; ++drawn) {
        const int link = static_cast<int>(random() % static_cast<unsigned>(links));
        if (std::find(flow.links.begin(), next, link) == next) *next++ = link;
      }
    }
    const auto rates = fair_share(flows, capacities);
    std::vector<double> used(capacities.size()), fastest(capacities.size());
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (int link : flows[f].links) {
        if (link < 0) continue;
        used[static_cast<std::size_t>(link)] += rates[f];
        fastest[static_cast<std::size_t>(link)] =
            std::max(fastest[static_cast<std::size_t>(link)], rates[f]);
      }
    }
    for (std::size_t l = 0; l < capacities.size(); ++l) {
      EXPECT_LE(used[l], capacities[l] * (1 + 1e-9));
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      bool bottleneck = false;
      for (int link : flows[f].links) {
        if (link < 0) continue;
        const auto l = static_cast<std::size_t>(link);
        bottleneck = bottleneck ||
                     (used[l] >= capacities[l] * (1 - 1e-9) && rates[f] >= fastest[l] * (1 - 1e-9));
      }
      EXPECT_TRUE(bottleneck);
    }
  }
}

}  // namespace
}  // namespace tuner::fair_share_test
