#include "tuner/search/least_recomputation.h"

#include <algorithm>
#include <limits>

namespace tuner {
namespace {

/// Of bytes: what sums of them may lose.
constexpr double kOfSums = 1e-9;

}  // namespace

LeastRecomputation::LeastRecomputation(std::span<const PieceCost* const> kinds, std::size_t place,
                                       std::vector<double> KeptActivations::*seconds) {
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const std::vector<KeptActivations>& ways = kinds[kind]->kept;
    std::size_t at = 0;
    while (at < ways.size()) {
      // The way that frees most bytes a second, so that the steps of a kind come in turn.
      Step best{kind};
      std::size_t next = ways.size();
      for (std::size_t to = 0; to < ways.size(); ++to) {
        const Step step{
            kind, static_cast<double>(ways[at].bytes - ways[to].bytes),
            std::max(0.0, at_place(ways[to].*seconds, place) - at_place(ways[at].*seconds, place))};
        if (step.bytes <= 0) continue;
        if (next == ways.size() || step.bytes * best.seconds > best.bytes * step.seconds) {
          best = step;
          next = to;
        }
      }
      if (next < ways.size()) steps_.push_back(best);
      at = next;
    }
  }
  std::ranges::stable_sort(steps_, [](const Step& one, const Step& other) {
    return one.bytes * other.seconds > other.bytes * one.seconds;
  });
}

double LeastRecomputation::seconds(std::span<const int> counts, double bytes) const {
  double all_s = 0, left = bytes;
  for (const Step& step : steps_) {
    if (left <= 0) break;
    const double most = step.bytes * counts[step.kind];
    const double freed = std::min(left, most);
    if (freed > 0) all_s += step.seconds * freed / step.bytes;
    left -= freed;
  }
  const bool fits = left <= kOfSums * std::max(bytes, 0.0);
  return fits ? all_s : std::numeric_limits<double>::infinity();
}

}  // namespace tuner
