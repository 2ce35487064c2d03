#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/costs/fit.h"
#include "tuner/costs/interference.h"

/// How executions that ran beside others tell the speeds of interference (calibrate.h, 3).
namespace tuner {

inline constexpr double kAlone =
    0.02;  ///< share of a span that may overlap and still count as alone
inline constexpr double kSlowest = 0.05;          ///< a factor below this is no measurement
inline constexpr double kEnoughOverlap_s = 1e-3;  ///< of a kind, to speak of its own interference
inline constexpr double kOneOf =
    0.9;  ///< of all company, what counts as that of one occupation alone

/// Seconds of an execution beside each occupation, and beside any.
struct BesideSeconds {
  std::array<double, kOccupations> each{};
  double links = 0;  ///< beside communication of either link
  double any = 0;
};

/// One execution of computation or of a copy, or one call of a collective.
struct Observation {
  Sample sample;
  BesideSeconds beside;  ///< of sample.seconds
};

/// Speeds of one occupation beside another.
class Beside {
 public:
  /// `beside_s`: of the observation, beside the other. Not counted where much of the company is another's.
  void add(const Observation& observation, const LinearFit& alone, double beside_s) {
    const Sample& sample = observation.sample;
    if (beside_s <= kAlone * sample.seconds || beside_s < kOneOf * observation.beside.any) return;
    const double work = seconds_of(alone, sample.calls, sample.units);
    speeds_.emplace_back((work - (sample.seconds - beside_s)) / beside_s, beside_s);
    seconds_ += beside_s;
  }
  /// The median, each observation weighing as long as it lasted.
  std::optional<double> speed() const {
    if (seconds_ < kEnoughOverlap_s) return std::nullopt;
    auto sorted = speeds_;
    std::sort(sorted.begin(), sorted.end());
    double sum = 0;
    auto middle = sorted.begin();
    while (sum + middle->second < seconds_ / 2) sum += (middle++)->second;
    return std::clamp(middle->first, kSlowest, 1.0);
  }

 private:
  std::vector<std::pair<double, double>> speeds_;  ///< and seconds
  double seconds_ = 0;
};

/// Every pair, and what either link does to others, or is done to by computation.
class Pairs {
 public:
  void add(Occupation own, const Observation& observation, const LinearFit& alone) {
    for (std::size_t x = 0; x < kOccupations; ++x) {
      pairs_[std::size_t(own)][x].add(observation, alone, observation.beside.each[x]);
      if (is_link(own)) any_link_[x].add(observation, alone, observation.beside.each[x]);
    }
    if (!is_link(own)) {
      beside_links_[std::size_t(own)].add(observation, alone, observation.beside.links);
    }
  }
  /// What was seen too little of on one link is taken to be as on both.
  void write(Interference& interference) const {
    for (std::size_t y = 0; y < kOccupations; ++y) {
      for (std::size_t x = 0; x < kOccupations; ++x) {
        const bool y_link = is_link(Occupation(y)), x_link = is_link(Occupation(x));
        std::optional<double> speed = pairs_[y][x].speed();
        if (!speed && y_link && !x_link) speed = any_link_[x].speed();
        if (!speed && x_link && !y_link) speed = beside_links_[y].speed();
        interference.speed[y][x] = speed.value_or(1);
      }
    }
  }

 private:
  std::array<std::array<Beside, kOccupations>, kOccupations> pairs_;
  std::array<Beside, kOccupations> any_link_, beside_links_;
};

}  // namespace tuner
