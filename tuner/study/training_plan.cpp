#include "tuner/study/training_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "db/console/format_rows.h"

namespace tuner {

std::vector<std::vector<std::size_t>> trainings_of(const Round& round, const TrainingTimes& times) {
  std::vector<std::vector<std::size_t>> trainings;
  double left_s = 0;
  for (const std::size_t trial : round.trials) {
    const double takes_s = times.steps * times.iteration_s[trial];
    if (trainings.empty() || !times.in_turns || takes_s > left_s) {
      trainings.emplace_back();
      left_s = kLongestTraining_s;
    }
    trainings.back().push_back(trial);
    left_s -= takes_s;
  }
  return trainings;
}

double training_s(std::span<const std::size_t> together, const TrainingTimes& times) {
  double seconds = times.start_s;
  for (const std::size_t trial : together) seconds += times.steps * times.iteration_s[trial];
  return seconds;
}

PlannedRuns planned_runs(std::vector<Turns> trials, std::optional<std::size_t> sequential,
                         int repeats, const TrainingTimes& times) {
  constexpr double kNoTime_s = 1e-9;  // comparisons take logarithms
  PlannedRuns planned{std::vector<int>(trials.size())};
  while (true) {
    const Round round = next_round(trials, sequential, repeats);
    if (round.trials.empty()) return planned;
    for (const std::vector<std::size_t>& together : trainings_of(round, times)) {
      ++planned.trainings;
      planned.seconds += training_s(together, times);
    }
    for (const std::size_t trial : round.trials) {
      trials[trial][round.repeat][0] = std::max(times.iteration_s[trial], kNoTime_s);
      ++planned.of_trial[trial];
      ++planned.runs;
    }
  }
}

std::string about_so_long(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string in_all(double seconds, std::optional<double> bytes) {
  const std::string text = fmt::format("about {} in all", about_so_long(seconds));
  if (!bytes) return text;
  return fmt::format("{}, and {} in the database", text,
                     db::format_cell("bytes", static_cast<std::int64_t>(*bytes)));
}

}  // namespace tuner
