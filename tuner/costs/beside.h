#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/costs/fit.h"
#include "tuner/costs/interference.h"

/// Works out the speeds of interference from ops that ran while other ops ran (calibrate.h, 3).
namespace tuner {

/// The share of a span that may overlap other work while the span still counts as alone.
inline constexpr double kAlone = 0.02;
/// The lowest speed that counts as a measurement.
inline constexpr double kSlowest = 0.05;
/// The least overlap by which the interference of a kind is measured.
inline constexpr double kEnoughOverlap_s = 1e-3;
/// The share of all overlap above which it counts as overlap with a single occupation.
inline constexpr double kOneOf = 0.9;

/// The seconds of an execution during which each occupation, and any of them, was at work too.
struct BesideSeconds {
  std::array<double, kOccupations> each{};
  double links = 0;  ///< beside communication of either link
  double any = 0;
  double several = 0;    ///< beside two of the others or more at once
  double same_link = 0;  ///< for a collective: beside other collectives on its link
};

/// One execution of computation or of a copy, or one call of a collective.
struct Observation {
  Sample sample;
  BesideSeconds beside;  ///< parts of sample.seconds
  // Of computation and copies:
  int rank = 0;
};

inline bool is_alone(const Observation& observation) {
  const double beside_s = std::max(observation.beside.any, observation.beside.same_link);
  return beside_s <= kAlone * observation.sample.seconds;
}

/// The median of values (first) with weights (second), of which there is at least one.
inline double weighted_median(std::vector<std::pair<double, double>> weighted) {
  std::sort(weighted.begin(), weighted.end());
  double half = 0;
  for (const auto& [value, weight] : weighted) half += weight / 2;
  double sum = 0;
  auto middle = weighted.begin();
  while (sum + middle->second < half) sum += (middle++)->second;
  return middle->first;
}

/// The speeds of one occupation while another is at work.
class Beside {
 public:
  /// `beside_s`: the seconds of the observation during which the other was at work. It does not
  /// count where that is next to none of it, or where something else was beside it for much of the
  /// time instead.
  void add(const Observation& observation, const LinearFit& alone, double beside_s) {
    const Sample& sample = observation.sample;
    if (beside_s <= kAlone * sample.seconds || beside_s < kOneOf * observation.beside.any) return;
    const double work = seconds_of(alone, sample.calls, sample.units);
    speeds_.emplace_back((work - (sample.seconds - beside_s)) / beside_s, beside_s);
    seconds_ += beside_s;
  }
  /// The median, where each observation weighs as many seconds as it lasted.
  std::optional<double> speed() const {
    if (seconds_ < kEnoughOverlap_s) return std::nullopt;
    return std::clamp(weighted_median(speeds_), kSlowest, 1.0);
  }

 private:
  std::vector<std::pair<double, double>> speeds_;  ///< speed and seconds of each observation
  double seconds_ = 0;
};

/// The speed beside one occupation, from observations without a third one where there are enough of
/// these, else from all.
class BesideOne {
 public:
  /// As Beside::add().
  void add(const Observation& observation, const LinearFit& alone, double beside_s) {
    if (observation.beside.several <= (1 - kOneOf) * observation.beside.any) {
      two_.add(observation, alone, beside_s);
    }
    any_.add(observation, alone, beside_s);
  }
  std::optional<double> speed() const {
    const std::optional<double> of_two = two_.speed();
    return of_two ? of_two : any_.speed();
  }

 private:
  Beside two_, any_;
};

/// The speeds of every pair of occupations, and those for both links together.
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
  /// Where one link was observed too little, the speed for both links is used.
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
  std::array<std::array<BesideOne, kOccupations>, kOccupations> pairs_;
  std::array<BesideOne, kOccupations> any_link_, beside_links_;
};

}  // namespace tuner
