#include "tuner/study/trial_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "db/console/format_rows.h"
#include "db/console/statistics.h"
#include "db/load.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/passes/schedule.h"
#include "moe/program/timeline.h"
#include "tuner/compare/compared_trials.h"
#include "tuner/study/budget.h"
#include "tuner/study/chosen_trials.h"
#include "tuner/study/rounds.h"
#include "tuner/study/stored_trainings.h"
#include "tuner/study/training_plan.h"

namespace tuner {
namespace {

struct TrainedTrial {
  db::Trial trial;
  moe::Schedule schedule;
  Turns turns;
  bool changes = false;  ///< this process has claimed it or trained it
};

bool is_live(const TrainedTrial& entry) {
  return entry.trial.status == db::kRunning || entry.trial.status == "done" ||
         entry.trial.status == "planned";
}

std::string named(const db::Trial& trial) {
  return trial.planner + (trial.parameters_json == "{}" ? "" : " " + trial.parameters_json);
}

std::vector<TrainedTrial> load_chosen(const db::Connection& connection, std::int64_t study_id,
                                      int top) {
  const ComparedTrials measured = compared_trials(connection, study_id);
  std::optional<std::int64_t> fastest;
  if (!measured.trials.empty()) fastest = measured.trials[measured.comparison.fastest].id;
  std::vector<TrainedTrial> entries;
  for (db::Trial& trial : chosen_trials(db::load_trials(connection, study_id), top, fastest)) {
    TrainedTrial& entry = entries.emplace_back();
    entry.schedule = moe::schedule_from_json(db::load_schedule(connection, trial.schedule_id).json);
    // The schedule's row may be another planner's, of equal decisions.
    entry.schedule.planner = trial.planner;
    entry.turns = measured_turns(connection, db::load_trial_repeats(connection, trial.id));
    entry.trial = std::move(trial);
  }
  return entries;
}

/// By measurement, and where there is none by prediction, as wrong as those of the others.
std::vector<double> expected_seconds(const std::vector<TrainedTrial>& trials) {
  std::vector<double> wrong;
  for (const TrainedTrial& entry : trials) {
    const double predicted_s = entry.trial.predicted_s.value_or(0);
    if (predicted_s > 0 && !entry.turns.empty()) {
      wrong.push_back(median_s(entry.turns) / predicted_s);
    }
  }
  const double factor = wrong.empty() ? 1 : db::median(std::move(wrong));
  std::vector<double> seconds;
  for (const TrainedTrial& entry : trials) {
    seconds.push_back(entry.turns.empty() ? factor * entry.trial.predicted_s.value_or(0)
                                          : median_s(entry.turns));
  }
  return seconds;
}

/// Losses of trials that change results stand beside those of others after as many iterations, so
/// then each is trained alone.
bool may_take_turns(const std::vector<TrainedTrial>& trials) {
  return std::ranges::all_of(trials, [](const TrainedTrial& entry) {
    return moe::changes_results(entry.schedule).empty();
  });
}

std::vector<Turns> turns_of(const std::vector<TrainedTrial>& trials) {
  std::vector<Turns> turns;
  for (const TrainedTrial& entry : trials) turns.push_back(entry.turns);
  return turns;
}

std::optional<std::size_t> sequential_of(const std::vector<TrainedTrial>& trials) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].trial.planner == db::kSequential) return i;
  }
  return std::nullopt;
}

class TrialTrainings {
 public:
  TrialTrainings(db::Connection& connection, const db::Study& study, const StudyTrainings& how)
      : connection_(connection),
        how_(how),
        trials_(load_chosen(connection, study.id, how.options.top)),
        start_s_(seconds_beside_iterations(connection, study)),
        newest_repeat_(newest_repeat(connection, study.id)) {}

  void run() {
    claim();
    announce();
    settled([&] {
      while (train_round()) continue;
    });
  }

  bool run_round(int least_repeat) {
    newest_repeat_ = std::max(newest_repeat_, least_repeat - 1);
    claim();
    bool trained = false;
    settled([&] { trained = train_round(); });
    return trained;
  }

  TrialsPlan plan() const {
    const PlannedRuns left = runs_left();
    const std::vector<double> seconds = expected_seconds(trials_);
    TrialsPlan result{{}, left.trainings, left.seconds, start_s_};
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      const db::Trial& trial = trials_[i].trial;
      result.of_trials.push_back(
          {"trial", trial.planner, trial.parameters_json, left.of_trial[i], steps(), seconds[i]});
    }
    return result;
  }

 private:
  int steps() const { return how_.options.job.steps; }
  int repeats() const { return how_.options.repeats; }
  void say(const std::string& text) const { how_.options.say(text); }
  TrainingTimes times() const {
    return {expected_seconds(trials_), steps(), start_s_, may_take_turns(trials_)};
  }
  PlannedRuns runs_left() const {
    return planned_runs(turns_of(trials_), sequential_of(trials_), repeats(), times());
  }

  /// Those that were not trained yet.
  void claim() {
    std::erase_if(trials_, [&](TrainedTrial& entry) {
      if (entry.trial.status == "done") return false;
      if (!db::claim_trial(connection_, entry.trial.id)) return true;
      entry.trial.status = db::kRunning;
      entry.trial.failure.clear();
      entry.trial.error.clear();
      entry.changes = true;
      return false;
    });
  }

  /// False where no round is left.
  bool train_round() {
    const Round round = next();
    if (round.trials.empty()) return false;
    for (const auto& together : trainings_of(round, times())) {
      run_repeat(together, round.repeat);
    }
    std::erase_if(trials_, [](const TrainedTrial& entry) { return !is_live(entry); });
    say_what_is_best();
    return true;
  }

  /// Settles the trials after `train`, also where that ends early.
  template <class Train>
  void settled(const Train& train) {
    try {
      train();
    } catch (const EndedEarly&) {
      settle();
      throw;
    }
    settle();
  }

  /// Those that were trained are done, and those that were not are planned.
  void settle() {
    for (TrainedTrial& entry : trials_) {
      if (!entry.changes || !is_live(entry)) continue;
      if (entry.turns.empty()) {
        db::unclaim_trial(connection_, entry.trial.id, entry.trial.failure, entry.trial.error);
      } else {
        finish(entry, "done", "");
      }
    }
  }

  Round next() const {
    Round round = next_round(turns_of(trials_), sequential_of(trials_), repeats());
    round.repeat = std::max(round.repeat, newest_repeat_ + 1);
    return round;
  }

  /// Says what will be trained, and how long it takes.
  void announce() const {
    const PlannedRuns plan = runs_left();
    if (plan.runs == 0) return;
    say(fmt::format("{} run{} of {} iterations to train in {} training{}, about {}", plan.runs,
                    plan.runs == 1 ? "" : "s", steps(), plan.trainings,
                    plan.trainings == 1 ? "" : "s", about_so_long(plan.seconds)));
  }

  /// After a round.
  void say_what_is_best() const {
    const std::vector<Turns> turns = turns_of(trials_);
    if (std::ranges::all_of(turns, &Turns::empty)) return;
    const std::optional<std::size_t> sequential = sequential_of(trials_);
    const ComparedSchedules so_far = compare(turns, sequential);
    const TrainedTrial& best = trials_[so_far.fastest];
    std::string text = fmt::format("best so far: {}, {} an iteration", named(best.trial),
                                   db::format_cell("measured_s", so_far.seconds[so_far.fastest]));
    if (sequential == so_far.reference && so_far.fastest != so_far.reference) {
      text += fmt::format(", {:.2f}x {}", so_far.speedups[so_far.fastest], db::kSequential);
    }
    const PlannedRuns left = runs_left();
    if (left.runs > 0) {
      text += fmt::format("; {} run{} left, about {}", left.runs, left.runs == 1 ? "" : "s",
                          about_so_long(left.seconds));
    }
    say(text);
  }

  /// No warm-up among them, where there are other iterations.
  int timelines_of_repeat() const {
    return std::clamp(steps() - moe::kWarmupIterations, 1, kMostTimelines);
  }

  std::vector<JobResult> train_in_turns(const std::vector<std::size_t>& ids) {
    std::vector<moe::Schedule> schedules;
    double limit_s = 0;
    for (const std::size_t id : ids) {
      TrainedTrial& entry = trials_[id];
      entry.changes = true;
      if (!entry.trial.started_at) entry.trial.started_at = db::now();
      schedules.push_back(entry.schedule);
      limit_s += trial_time_limit_s(how_.options, entry.trial.predicted_s.value_or(1));
    }
    return train(connection_, how_,
                 {schedules, steps(), timelines_of_repeat(), limit_s, training_s(ids, times())})
        .results;
  }

  /// Where a training in turns fails, each of its trials is trained alone: one of them is to blame.
  void run_repeat(const std::vector<std::size_t>& ids, int repeat) {
    std::vector<std::string> names;
    for (const std::size_t id : ids) names.push_back(named(trials_[id].trial));
    say(fmt::format(
        "repeat {}, {}: {}", repeat,
        ids.size() == 1 ? "1 schedule" : fmt::format("{} schedules in turns", ids.size()),
        fmt::join(names, "; ")));
    const std::vector<JobResult> results = train_in_turns(ids);
    const std::string& status = status_of(results);
    if (status == "done") {
      store_repeat(ids, repeat, results);
    } else if (is_no_verdict(status)) {
      for (const std::size_t id : ids) {
        trials_[id].trial.failure = status;
        trials_[id].trial.error = results.front().error;
      }
      throw EndedEarly(
          fmt::format("{} in {} attempts: {}",
                      status == db::kLostNode ? "a node was lost, and nothing was trained"
                                              : "no rank was started",
                      kMostLaunches, results.front().error),
          true);
    } else if (ids.size() == 1) {
      finish(trials_[ids.front()], status, results.front().error);
      say(fmt::format("  {}: {}", status, results.front().error));
    } else {
      say(fmt::format("  {}: {}: each is trained alone", status, results.front().error));
      for (const std::size_t id : ids) run_repeat({id}, repeat);
    }
  }

  void store_repeat(const std::vector<std::size_t>& ids, int repeat,
                    const std::vector<JobResult>& results) {
    std::vector<db::TrialRepeat> stored;
    db::Transaction transaction(connection_, "store a repeat");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int64_t trial = trials_[ids[i]].trial.id;
      stored.push_back({trial, repeat, results[i].run_id, results[i].iteration_s, steps()});
      db::insert(connection_, stored.back());
      db::link_timelines(connection_, results[i].run_id, trial);
    }
    transaction.commit();
    newest_repeat_ = std::max(newest_repeat_, repeat);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      TrainedTrial& entry = trials_[ids[i]];
      entry.turns.merge(measured_turns(connection_, std::span(&stored[i], 1)));
      entry.trial.measured_peak_bytes =
          std::max(entry.trial.measured_peak_bytes.value_or(0), results[i].measured_peak_bytes);
    }
    for (const std::size_t id : ids) say_result(id, repeat);
  }

  void say_result(std::size_t id, int repeat) const {
    const TrainedTrial& entry = trials_[id];
    const Turns now{*entry.turns.find(repeat)};
    std::string text =
        fmt::format("  {}: {}", named(entry.trial), db::format_cell("measured_s", median_s(now)));
    if (entry.trial.predicted_s) {
      text += ", predicted " + db::format_cell("predicted_s", *entry.trial.predicted_s);
    }
    const std::optional<std::size_t> sequential = sequential_of(trials_);
    if (sequential && *sequential != id && trials_[*sequential].turns.contains(repeat)) {
      text += fmt::format("; {:.2f}x {}", speedup_over(trials_[*sequential].turns, now),
                          db::kSequential);
    }
    say(text);
  }

  void finish(TrainedTrial& entry, const std::string& status, const std::string& error) {
    db::Trial& trial = entry.trial;
    trial.status = status;
    trial.error = error;
    trial.tied_with.clear();  // it has other repeats now
    trial.least_speedup.reset();
    trial.most_speedup.reset();
    if (!entry.turns.empty()) trial.measured_s = median_s(entry.turns);
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
  const StudyTrainings& how_;
  std::vector<TrainedTrial> trials_;
  const double start_s_;
  int newest_repeat_ = 0;
};

}  // namespace

void train_trials(db::Connection& connection, const db::Study& study, const StudyTrainings& how) {
  TrialTrainings(connection, study, how).run();
}

bool train_next_round(db::Connection& connection, const db::Study& study, const StudyTrainings& how,
                      int least_repeat) {
  return TrialTrainings(connection, study, how).run_round(least_repeat);
}

int newest_repeat(const db::Connection& connection, std::int64_t study_id) {
  int newest = 0;
  for (const db::Trial& trial : db::load_trials(connection, study_id)) {
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      newest = std::max(newest, repeat.repeat);
    }
  }
  return newest;
}

TrialsPlan plan_trials(db::Connection& connection, const db::Study& study,
                       const StudyTrainings& how) {
  return TrialTrainings(connection, study, how).plan();
}

}  // namespace tuner
