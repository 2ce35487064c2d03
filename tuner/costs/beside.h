#pragma once

#include <array>
#include <utility>
#include <vector>

#include "tuner/costs/fit.h"
#include "tuner/costs/interference.h"

/// Works out the speeds of interference from ops that ran while other ops ran (calibrate.h, 3).
namespace tuner {

/// The share of a span that may overlap other work while the span still counts as alone.
inline constexpr double kAlone = 0.02;

/// The seconds of an execution during which each occupation, and any of them, was at work too.
struct BesideSeconds {
  std::array<double, kOccupations> each{};
  double any = 0;
  double same_link = 0;  ///< for a collective: beside other collectives on its link
};

/// One execution of computation or of a copy, or one call of a collective.
struct Observation {
  Sample sample;
  BesideSeconds beside;  ///< parts of sample.seconds
  int rank = 0;          ///< of computation and copies
};

bool is_alone(const Observation& observation);

/// The speeds of every pair of occupations.
class Pairs {
 public:
  void add(Occupation own, const Observation& observation, const LinearFit& alone);
  Interference speeds() const;

 private:
  /// Speed and seconds of each observation.
  using Speeds = std::vector<std::pair<double, double>>;
  std::array<std::array<Speeds, kOccupations>, kOccupations> pairs_;
};

}  // namespace tuner
