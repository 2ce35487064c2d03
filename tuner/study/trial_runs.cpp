#include "tuner/study/trial_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "db/console/statistics.h"
#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/passes/schedule.h"
#include "moe/program/timeline.h"
#include "tuner/study/chosen_trials.h"
#include "tuner/study/measured_turns.h"
#include "tuner/study/profile_warning.h"
#include "tuner/study/rounds.h"
#include "tuner/study/undisturbed.h"

namespace tuner {
namespace {

/// The longest training in turns, by prediction: a kill loses no more.
constexpr double kLongestTraining_s = 600;

struct TrainedTrial {
  db::Trial trial;
  moe::Schedule schedule;
  Repeats repeats;
  bool changes = false;  ///< this process has claimed it or trained it
};

class TrialTrainings {
 public:
  TrialTrainings(db::Connection& connection, const TrialRuns& how)
      : connection_(connection), how_(how) {}

  std::string run() {
    choose();
    announce();
    while (true) {
      const Round round = next();
      if (round.trials.empty()) break;
      for (const std::vector<std::size_t>& together : trainings_of(round)) {
        run_repeat(together, round.repeat);
      }
    }
    for (TrainedTrial& entry : trials_) {
      if (entry.changes && is_live(entry)) finish(entry, "done", "");
    }
    return warnings_;
  }

 private:
  static bool is_live(const TrainedTrial& entry) {
    return entry.trial.status == db::kRunning || entry.trial.status == "done";
  }

  /// Claims those that were not trained yet.
  void choose() {
    for (db::Trial& trial : chosen_trials(db::load_trials(connection_, how_.study_id), how_.top)) {
      const bool is_done = trial.status == "done";
      if (!is_done && !db::claim_trial(connection_, trial.id)) continue;
      trial.status = is_done ? "done" : "running";
      TrainedTrial entry;
      entry.schedule =
          moe::schedule_from_json(db::load_schedule(connection_, trial.schedule_id).json);
      // The schedule's row may be another planner's, of equal decisions.
      entry.schedule.planner = trial.planner;
      for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection_, trial.id)) {
        entry.repeats[repeat.repeat] = repeat.measured_s;
      }
      entry.changes = !is_done;
      entry.trial = std::move(trial);
      trials_.push_back(std::move(entry));
    }
  }

  /// Of those that have not failed; by their places in trials_.
  Round next() const {
    std::vector<std::size_t> places;
    std::vector<Repeats> repeats;
    std::optional<std::size_t> sequential;
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      if (!is_live(trials_[i])) continue;
      if (trials_[i].trial.planner == db::kSequential) sequential = places.size();
      places.push_back(i);
      repeats.push_back(trials_[i].repeats);
    }
    Round round = next_round(repeats, sequential, how_.repeats);
    for (std::size_t& i : round.trials) i = places[i];
    return round;
  }

  /// Says what will be trained, and the predicted time; starting ranks comes on top.
  void announce() const {
    int runs = 0;
    double seconds = 0;
    for (const TrainedTrial& entry : trials_) {
      const int left = std::max(0, how_.repeats - static_cast<int>(entry.repeats.size()));
      runs += left;
      seconds += left * how_.job.steps * entry.trial.predicted_s.value_or(0);
    }
    if (runs == 0) return;
    how_.say(fmt::format("{} runs of {} iterations to train, at least {}", runs, how_.job.steps,
                         seconds < 120 ? fmt::format("{:.0f} s", seconds)
                                       : fmt::format("{:.0f} min", seconds / 60)));
  }

  void stay_alive() {
    how_.alive();
    for (const TrainedTrial& entry : trials_) {
      if (entry.trial.status == db::kRunning) db::heartbeat_trial(connection_, entry.trial.id);
    }
  }

  /// Losses of trials that change results stand beside those of others after as many iterations, so
  /// then each is trained alone.
  bool may_take_turns() const {
    return std::ranges::all_of(trials_, [](const TrainedTrial& entry) {
      return moe::changes_results(entry.schedule).empty();
    });
  }

  /// The trials of each training of a round, which take turns in it. No training is longer than
  /// what a kill may lose.
  std::vector<std::vector<std::size_t>> trainings_of(const Round& round) const {
    std::vector<std::vector<std::size_t>> trainings;
    const bool in_turns = may_take_turns();
    double left_s = 0;
    for (const std::size_t id : round.trials) {
      const double takes_s = how_.job.steps * trials_[id].trial.predicted_s.value_or(0);
      if (trainings.empty() || !in_turns || takes_s > left_s) {
        trainings.emplace_back();
        left_s = kLongestTraining_s;
      }
      trainings.back().push_back(id);
      left_s -= takes_s;
    }
    return trainings;
  }

  std::string named(std::size_t id) const {
    const db::Trial& trial = trials_[id].trial;
    return trial.planner + (trial.parameters_json == "{}" ? "" : " " + trial.parameters_json);
  }

  /// No warm-up among them, where there are other iterations.
  int timelines_of_repeat() const {
    return std::clamp(how_.job.steps - moe::kWarmupIterations, 1, kMostTimelines);
  }

  std::vector<JobResult> train_in_turns(const std::vector<std::size_t>& ids) {
    std::vector<moe::Schedule> schedules;
    double limit_s = 0;
    for (const std::size_t id : ids) {
      TrainedTrial& entry = trials_[id];
      entry.changes = true;
      if (!entry.trial.started_at) entry.trial.started_at = db::now();
      schedules.push_back(entry.schedule);
      limit_s += how_.time_limit_s(entry.trial.predicted_s.value_or(1));
    }
    const auto train_once = [&] {
      return train(how_.job, schedules, how_.job.steps, timelines_of_repeat(), limit_s,
                   [this] { stay_alive(); });
    };
    return train_undisturbed(train_once, how_.most_of_others, how_.say).results;
  }

  /// Where a training in turns fails, each of its trials is trained alone: one of them is to blame.
  void run_repeat(const std::vector<std::size_t>& ids, int repeat) {
    std::vector<std::string> names;
    for (const std::size_t id : ids) names.push_back(named(id));
    how_.say(fmt::format(
        "repeat {}, {}: {}", repeat,
        ids.size() == 1 ? "1 schedule" : fmt::format("{} schedules in turns", ids.size()),
        fmt::join(names, "; ")));
    const std::vector<JobResult> results = train_in_turns(ids);
    const std::string& status = status_of(results);
    if (status == "done") {
      store_repeat(ids, repeat, results);
    } else if (ids.size() == 1) {
      finish(trials_[ids.front()], status, results.front().error);
      how_.say(fmt::format("  {}: {}", status, results.front().error));
    } else {
      how_.say(fmt::format("  {}: {}: each is trained alone", status, results.front().error));
      for (const std::size_t id : ids) run_repeat({id}, repeat);
    }
  }

  void store_repeat(const std::vector<std::size_t>& ids, int repeat,
                    const std::vector<JobResult>& results) {
    how_.check_run(results.front().run_id);
    db::Transaction transaction(connection_, "store a repeat");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int64_t trial = trials_[ids[i]].trial.id;
      db::insert(connection_, db::TrialRepeat{trial, repeat, results[i].run_id,
                                              results[i].iteration_s, how_.job.steps});
      db::link_timelines(connection_, results[i].run_id, trial);
    }
    transaction.commit();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      TrainedTrial& entry = trials_[ids[i]];
      entry.repeats[repeat] = results[i].iteration_s;
      entry.trial.measured_peak_bytes =
          std::max(entry.trial.measured_peak_bytes.value_or(0), results[i].measured_peak_bytes);
    }
  }

  void finish(TrainedTrial& entry, const std::string& status, const std::string& error) {
    db::Trial& trial = entry.trial;
    trial.status = status;
    trial.error = error;
    trial.tied_with.clear();  // it has other repeats now
    trial.comparable_s.reset();
    trial.compute_slowdown.reset();
    trial.predicted_slowed_s.reset();
    trial.slowed_lower_bound_s.reset();
    std::vector<double> seconds;
    for (const auto& [number, value] : entry.repeats) seconds.push_back(value);
    const Turns turns = measured_turns(connection_, db::load_trial_repeats(connection_, trial.id));
    if (!turns.empty()) trial.measured_s = median_s(turns);
    std::string spread =
        spread_warning(fmt::format("{} {}", trial.planner, trial.parameters_json), seconds);
    if (!spread.empty()) {
      if (trial.planner == db::kSequential) {
        spread += " Every speed-up of this study is against it.";
      }
      how_.say(spread);
      warnings_ += (warnings_.empty() ? "" : "\n") + spread;
    }
    if (!trial.measured_peak_bytes) trial.measured_peak_bytes = peak_of_repeats(trial.id);
    trial.finished_at = db::now();
    db::finish_trial(connection_, trial);
  }

  /// Where all repeats were measured before this process began.
  std::optional<std::int64_t> peak_of_repeats(std::int64_t trial_id) const {
    std::optional<std::int64_t> peak;
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection_, trial_id)) {
      if (!repeat.run_id) continue;
      for (const db::RunRank& rank : db::load_run_ranks(connection_, *repeat.run_id)) {
        peak = std::max(peak.value_or(0), rank.measured_peak_bytes);
      }
    }
    return peak;
  }

  db::Connection& connection_;
  const TrialRuns& how_;
  std::vector<TrainedTrial> trials_;
  std::string warnings_;
};

}  // namespace

std::string train_trials(db::Connection& connection, const TrialRuns& how) {
  return TrialTrainings(connection, how).run();
}

}  // namespace tuner
