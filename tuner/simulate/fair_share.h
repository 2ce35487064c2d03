#pragma once

#include <array>
#include <span>
#include <vector>

namespace tuner {

/// A transfer that crosses up to four links (an unused place is -1).
struct Path {
  std::array<int, 4> links{-1, -1, -1, -1};
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
