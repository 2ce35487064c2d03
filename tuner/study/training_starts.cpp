#include "tuner/study/training_starts.h"

#include <algorithm>
#include <vector>

#include "db/console/statistics.h"
#include "db/load.h"
#include "tuner/study/stored_trainings.h"

namespace tuner {
namespace {

/// Between the end of one training and the begin of the next; what is longer was spent on something
/// else.
constexpr double kLongestStart_s = 60;

/// Runs of schedules that took turns.
struct StoredTraining {
  double began_at = 0, ended_at = 0, iterations_s = 0;
};

std::vector<StoredTraining> trainings_of(const db::Connection& connection, const db::Study& study) {
  std::vector<db::Run> runs = stored_trainings(connection, study);
  const auto is_earlier = [&](const db::Run& run) { return run.started_at < study.created_at; };
  if (!std::ranges::all_of(runs, is_earlier)) std::erase_if(runs, is_earlier);
  std::ranges::sort(runs, {}, &db::Run::started_at);
  std::vector<StoredTraining> trainings;
  for (const db::Run& run : runs) {
    if (trainings.empty() || run.started_at >= trainings.back().ended_at) {
      trainings.push_back({run.started_at, *run.finished_at, 0});
    }
    StoredTraining& training = trainings.back();
    training.ended_at = std::max(training.ended_at, *run.finished_at);
    for (const db::Iteration& one : db::load_iterations(connection, run.id)) {
      training.iterations_s += one.duration_s;
    }
  }
  return trainings;
}

}  // namespace

double seconds_beside_iterations(const db::Connection& connection, const db::Study& study) {
  const std::vector<StoredTraining> trainings = trainings_of(connection, study);
  std::vector<double> seconds;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    const StoredTraining& one = trainings[i];
    double beside_s = one.ended_at - one.began_at - one.iterations_s;
    const double before_s = i > 0 ? one.began_at - trainings[i - 1].ended_at : 0;
    if (before_s <= kLongestStart_s) beside_s += before_s;
    seconds.push_back(std::max(beside_s, 0.0));
  }
  return seconds.empty() ? 0 : db::median(std::move(seconds));
}

}  // namespace tuner
