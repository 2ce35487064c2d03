#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/study/rounds.h"

/// What a study still has to train, and how long that takes.
namespace tuner {

/// The longest training in turns, without its start: a kill loses no more.
inline constexpr double kLongestTraining_s = 600;

/// What trainings take.
struct TrainingTimes {
  std::vector<double> iteration_s;  ///< [trial]
  int steps = 1;                    ///< iterations of a trial in one training
  double start_s = 0;               ///< of a training, beside its iterations
  bool in_turns = true;             ///< the trials of a round may take turns in one training
};

/// The trials of each training of a round, which take turns in it. No training has more iterations
/// than kLongestTraining_s, but for those of a single trial.
std::vector<std::vector<std::size_t>> trainings_of(const Round& round, const TrainingTimes& times);
/// The seconds that one of these takes.
double training_s(std::span<const std::size_t> together, const TrainingTimes& times);

struct PlannedRuns {
  std::vector<int> of_trial;
  int runs = 0;
  int trainings = 0;
  double seconds = 0;
};
/// All rounds that are left (next_round), where every trial goes on to take what `times` say.
PlannedRuns planned_runs(std::vector<Turns> trials, std::optional<std::size_t> sequential,
                         int repeats, const TrainingTimes& times);

/// For a person: "45 s", "12 min", "3.5 h".
std::string about_so_long(double seconds);
/// "about 12 min in all, and 34 MB in the database"; without the bytes where they are not known.
std::string in_all(double seconds, std::optional<double> bytes);

}  // namespace tuner
