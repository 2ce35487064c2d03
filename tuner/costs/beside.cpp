#include "tuner/costs/beside.h"

#include <algorithm>

namespace tuner {
namespace {

/// The lowest speed that counts as a measurement.
constexpr double kSlowest = 0.05;
/// The least overlap by which a pair is measured.
constexpr double kEnoughOverlap_s = 1e-3;
/// The share of all overlap above which it counts as overlap with a single occupation.
constexpr double kOneOf = 0.9;

/// The median of values (first) with weights (second) of this sum, which is above 0.
double weighted_median(std::vector<std::pair<double, double>> weighted, double sum) {
  std::ranges::sort(weighted);
  double before = 0;
  auto middle = weighted.begin();
  while (before + middle->second < sum / 2) before += (middle++)->second;
  return middle->first;
}

}  // namespace

bool is_alone(const Observation& observation) {
  const double beside_s = std::max(observation.beside.any, observation.beside.same_link);
  return beside_s <= kAlone * observation.sample.seconds;
}

void Pairs::add(Occupation own, const Observation& observation, const LinearFit& alone) {
  const Sample& sample = observation.sample;
  const BesideSeconds& beside = observation.beside;
  double several_s = -beside.any;  // beside two others at once
  for (const double beside_s : beside.each) several_s += beside_s;
  if (several_s > (1 - kOneOf) * beside.any) return;
  for (std::size_t x = 0; x < kOccupations; ++x) {
    const double beside_s = beside.each[x];
    if (beside_s <= kAlone * sample.seconds || beside_s < kOneOf * beside.any) continue;
    const double work = seconds_of(alone, sample.calls, sample.units);
    pairs_[std::size_t(own)][x].emplace_back((work - (sample.seconds - beside_s)) / beside_s,
                                             beside_s);
  }
}

Interference Pairs::speeds() const {
  Interference interference;
  for (std::size_t y = 0; y < kOccupations; ++y) {
    for (std::size_t x = 0; x < kOccupations; ++x) {
      double seconds = 0;
      for (const auto& [speed, beside_s] : pairs_[y][x]) seconds += beside_s;
      if (seconds < kEnoughOverlap_s) continue;
      interference.speed[y][x] = std::clamp(weighted_median(pairs_[y][x], seconds), kSlowest, 1.0);
    }
  }
  return interference;
}

}  // namespace tuner
