#include "tuner/search/least_recomputation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tuner {
namespace {

/// Of bytes: what sums of them may lose.
constexpr double kOfSums = 1e-9;
/// So many arrangements of whole pieces are tried.
constexpr double kMostArrangements = 1000;

}  // namespace

LeastRecomputation::LeastRecomputation(std::span<const PieceCost* const> kinds, std::size_t place,
                                       std::vector<double> KeptActivations::*seconds) {
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const std::vector<KeptActivations>& ways = kinds[kind]->kept;
    for (const KeptActivations& way : ways) {
      const auto freed = static_cast<double>(ways.front().bytes - way.bytes);
      const double again_s = at_place(way.*seconds, place) - at_place(ways.front().*seconds, place);
      if (freed > 0) ways_.push_back({kind, freed, std::max(0.0, again_s)});
    }
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
  const double in_part = in_part_s(counts, bytes);
  if (in_part == 0 || arrangements(counts) > kMostArrangements) return in_part;
  return std::max(in_part, whole_s(counts, bytes * (1 - kOfSums), 0, 0));
}

double LeastRecomputation::in_part_s(std::span<const int> counts, double bytes) const {
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

/// How many ways there are to give each piece but those of the last kind one of its ways.
double LeastRecomputation::arrangements(std::span<const int> counts) const {
  double all = 1;
  int of_kind = 0;
  for (std::size_t i = 0; i + 1 < ways_.size(); ++i) {
    of_kind = i > 0 && ways_[i - 1].kind == ways_[i].kind ? of_kind + 1 : 1;
    all *= static_cast<double>(counts[ways_[i].kind] + of_kind) / of_kind;
  }
  return all;
}

/// With the ways from `way` on, of whose kind so many pieces are left.
double LeastRecomputation::whole_s(std::span<const int> counts, double bytes, std::size_t way,
                                   int left) const {
  if (bytes <= 0) return 0;
  double least_s = std::numeric_limits<double>::infinity();
  if (way == ways_.size()) return least_s;
  const Way& one = ways_[way];
  if (way == 0 || ways_[way - 1].kind != one.kind) left = counts[one.kind];
  if (way + 1 == ways_.size()) {
    const double number = std::ceil(bytes / one.bytes);
    return number <= left ? number * one.seconds : least_s;
  }
  for (int number = 0; number <= left; ++number) {
    const double rest = bytes - number * one.bytes;
    least_s =
        std::min(least_s, number * one.seconds + whole_s(counts, rest, way + 1, left - number));
    if (rest <= 0) break;
  }
  return least_s;
}

}  // namespace tuner
