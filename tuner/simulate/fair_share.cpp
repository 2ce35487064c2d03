#include "tuner/simulate/fair_share.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace tuner {

std::vector<double> fair_share(std::span<const Path> flows, std::span<const double> capacities) {
  const std::size_t links = capacities.size();
  std::vector<double> left(capacities.begin(), capacities.end());
  std::vector<int> rising(links, 0);
  std::vector<int> first(links + 1, 0);
  for (const Path& flow : flows) {
    for (int link : flow.links) {
      if (link < 0) break;
      ++rising[link];
    }
  }
  for (std::size_t link = 0; link < links; ++link) first[link + 1] = first[link] + rising[link];
  std::vector<int> flows_of(static_cast<std::size_t>(first[links]));
  std::vector<int> fill(first.begin(), first.end() - 1);
  for (std::size_t flow = 0; flow < flows.size(); ++flow) {
    for (int link : flows[flow].links) {
      if (link < 0) break;
      flows_of[fill[link]++] = static_cast<int>(flow);
    }
  }

  const auto share = [&](std::size_t link) { return std::max(left[link], 0.0) / rising[link]; };
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> fullest;
  for (std::size_t link = 0; link < links; ++link) {
    if (rising[link] > 0) fullest.emplace(share(link), link);
  }

  std::vector<double> rates(flows.size(), -1);
  while (!fullest.empty()) {
    const auto [rate, link] = fullest.top();
    fullest.pop();
    if (rising[link] == 0) continue;
    // Shares only grow while others settle, so an entry that is out of date is put back.
    if (const double now = share(link); now > rate) {
      fullest.emplace(now, link);
      continue;
    }
    for (int place = first[link]; place < first[link + 1]; ++place) {
      const auto flow = static_cast<std::size_t>(flows_of[place]);
      if (rates[flow] >= 0) continue;
      rates[flow] = rate;
      for (int crossed : flows[flow].links) {
        if (crossed < 0) break;
        left[crossed] -= rate;
        --rising[crossed];
      }
    }
  }
  return rates;
}

}  // namespace tuner
