#pragma once

#include <array>
#include <span>
#include <vector>

#include "moe/rows/groups.h"

namespace tuner {

/// The links that a transfer crosses, each once. Places behind the last are -1.
struct Path {
  static constexpr int kMost = 6 + 2 * moe::kMostLevels;
  std::array<int, kMost> links = no_links();

  static constexpr std::array<int, kMost> no_links() {
    std::array<int, kMost> none{};
    none.fill(-1);
    return none;
  }
};

/// Max-min fair rates of flows that share links, by progressive filling.
///
/// All rates rise together from zero. When a link is full, the flows on it stop rising: they have
/// found their bottleneck. With capacity C_l left and n_l flows still rising on link l, the next
/// link to fill is the one with the smallest C_l / n_l; its flows get that rate, which is then
/// taken off every other link they cross. A flow's rate can only be raised by lowering that of a
/// flow which has no more: that is what max-min fair means. Ties: the lower link first.
///
/// flows and capacities in the same unit per second; every flow crosses at least one link. Costs
/// O(flows + links log links) per call.
std::vector<double> fair_share(std::span<const Path> flows, std::span<const double> capacities);

}  // namespace tuner
