#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tuner/compare/turns.h"

/// How many times as fast the schedules of a study are, and which differences are real (README.md).
/// All of a study that says which schedule is faster comes from here.
namespace tuner {

/// ln(seconds of `reference` / seconds of `schedule`), by repeat and then by turn, of all turns
/// that both stand in. Of a repeat that they have in common without a turn, the one of its medians.
using LogRatios = std::vector<std::vector<double>>;
LogRatios log_ratios(const Turns& reference, const Turns& schedule);

/// How many times as fast as `reference` the schedule is: exp of the median of their log-ratios.
/// Where they have no repeat in common, by their medians. Both have turns.
double speedup_over(const Turns& reference, const Turns& schedule);

struct Interval {
  double least = 0, most = 0;
};

/// The schedules of a study, against one of them.
struct ComparedSchedules {
  std::vector<Turns> schedules;
  std::size_t reference = 0;     ///< its index
  std::vector<double> speedups;  ///< [schedule]: over the reference; 0 without turns
  /// [schedule]: the median of the reference's turns over the speed-up; infinite without turns.
  std::vector<double> seconds;
  std::size_t fastest = 0;
};
/// The reference is `sequential`. Where there is none, or it has no turn: the schedule with most
/// turns, and of several the one with the least median. Throws std::invalid_argument where no
/// schedule has a turn.
ComparedSchedules compare(std::vector<Turns> schedules, std::optional<std::size_t> sequential);

/// The 95% interval of how many times as fast as `other` the schedule is. From the turns that both
/// stand in; where they have fewer than two repeats in common, through the reference. None where
/// fewer than two repeats tell.
std::optional<Interval> interval(const ComparedSchedules& comparison, std::size_t schedule,
                                 std::size_t other);

/// False where the interval contains 1, and where there is none: the two are tied.
bool told_apart(const ComparedSchedules& comparison, std::size_t a, std::size_t b);

/// The schedules with turns that this one is tied with, fastest first.
std::vector<std::size_t> tied_with(const ComparedSchedules& comparison, std::size_t schedule);

}  // namespace tuner
