#include "tuner/study/stored_trainings.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "db/console/statistics.h"
#include "db/load.h"

namespace tuner {
namespace {

/// The newest finished trainings of the study's model on as many ranks, the newest first.
std::vector<db::Run> stored_trainings(const db::Connection& connection, const db::Study& study) {
  constexpr std::size_t kMost = 64;
  std::vector<db::Run> runs = db::load_runs(connection, {.kind = "train", .status = "done"});
  std::erase_if(runs, [&](const db::Run& run) {
    return run.ranks != study.ranks || run.model_json != study.model_json || !run.finished_at;
  });
  if (runs.size() > kMost) runs.resize(kMost);
  return runs;
}

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

double pragma(const db::Connection& connection, const char* name) {
  return connection.database().execAndGet(fmt::format("PRAGMA {}", name)).getDouble();
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

double used_bytes(const db::Connection& connection) {
  return (pragma(connection, "page_count") - pragma(connection, "freelist_count")) *
         pragma(connection, "page_size");
}

std::optional<double> bytes_of_training(const db::Connection& copy, const db::Study& study,
                                        int steps) {
  std::vector<db::Run> runs = stored_trainings(copy, study);
  const auto is_as_long = [&](const db::Run& run) {
    return db::load_iterations(copy, run.id).size() == static_cast<std::size_t>(steps);
  };
  const auto others = std::stable_partition(runs.begin(), runs.end(), is_as_long);
  if (others != runs.begin()) runs.erase(others, runs.end());
  if (runs.empty()) return std::nullopt;
  constexpr std::size_t kMostTrainings = 8;
  if (runs.size() > kMostTrainings) runs.resize(kMostTrainings);
  const double before = used_bytes(copy);
  for (const db::Run& run : runs) {
    copy.database().exec(fmt::format("DELETE FROM run WHERE id = {}", run.id));
  }
  return (before - used_bytes(copy)) / static_cast<double>(runs.size());
}

}  // namespace tuner
