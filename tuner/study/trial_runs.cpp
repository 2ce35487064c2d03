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
#include "tuner/study/budget.h"
#include "tuner/study/chosen_trials.h"
#include "tuner/study/measured_turns.h"
#include "tuner/study/profile_warning.h"
#include "tuner/study/rounds.h"
#include "tuner/study/training_plan.h"
#include "tuner/study/undisturbed.h"

namespace tuner {
namespace {

struct TrainedTrial {
  db::Trial trial;
  moe::Schedule schedule;
  Repeats repeats;
  bool changes = false;  ///< this process has claimed it or trained it
};

bool is_live(const TrainedTrial& entry) {
  return entry.trial.status == db::kRunning || entry.trial.status == "done" ||
         entry.trial.status == "planned";
}

std::string named(const db::Trial& trial) {
  return trial.planner + (trial.parameters_json == "{}" ? "" : " " + trial.parameters_json);
}

std::vector<TrainedTrial> load_chosen(const db::Connection& connection, const TrialRuns& how) {
  std::vector<TrainedTrial> entries;
  for (db::Trial& trial : chosen_trials(db::load_trials(connection, how.study_id), how.top)) {
    TrainedTrial& entry = entries.emplace_back();
    entry.schedule = moe::schedule_from_json(db::load_schedule(connection, trial.schedule_id).json);
    // The schedule's row may be another planner's, of equal decisions.
    entry.schedule.planner = trial.planner;
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      entry.repeats[repeat.repeat] = repeat.measured_s;
    }
    entry.trial = std::move(trial);
  }
  return entries;
}

double seconds_of(const Repeats& repeats) {
  std::vector<double> seconds;
  for (const auto& [number, value] : repeats) seconds.push_back(value);
  return db::median(std::move(seconds));
}

/// By measurement, and where there is none by prediction, as wrong as those of the others.
std::vector<double> expected_seconds(const std::vector<TrainedTrial>& trials) {
  std::vector<double> wrong;
  for (const TrainedTrial& entry : trials) {
    const double predicted_s = entry.trial.predicted_s.value_or(0);
    if (predicted_s > 0 && !entry.repeats.empty()) {
      wrong.push_back(seconds_of(entry.repeats) / predicted_s);
    }
  }
  const double factor = wrong.empty() ? 1 : db::median(std::move(wrong));
  std::vector<double> seconds;
  for (const TrainedTrial& entry : trials) {
    seconds.push_back(entry.repeats.empty() ? factor * entry.trial.predicted_s.value_or(0)
                                            : seconds_of(entry.repeats));
  }
  return seconds;
}

/// How many times as long `other` took in the repeats that both have; none where they have none.
std::optional<double> times_as_long(const Repeats& other, const Repeats& trial) {
  std::vector<double> ratios;
  for (const auto& [number, seconds] : trial) {
    const auto found = other.find(number);
    if (found != other.end() && seconds > 0) ratios.push_back(found->second / seconds);
  }
  return ratios.empty() ? std::nullopt : std::optional(db::median(std::move(ratios)));
}

/// Losses of trials that change results stand beside those of others after as many iterations, so
/// then each is trained alone.
bool may_take_turns(const std::vector<TrainedTrial>& trials) {
  return std::ranges::all_of(trials, [](const TrainedTrial& entry) {
    return moe::changes_results(entry.schedule).empty();
  });
}

TrainingTimes times_of(const std::vector<TrainedTrial>& trials, const TrialRuns& how) {
  return {expected_seconds(trials), how.job.steps, how.start_s, may_take_turns(trials)};
}

/// The trials that have not failed.
struct LiveTrials {
  std::vector<std::size_t> places;
  std::vector<Repeats> repeats;
  std::optional<std::size_t> sequential;
};

LiveTrials live_trials(const std::vector<TrainedTrial>& trials) {
  LiveTrials live;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!is_live(trials[i])) continue;
    if (trials[i].trial.planner == db::kSequential) live.sequential = live.places.size();
    live.places.push_back(i);
    live.repeats.push_back(trials[i].repeats);
  }
  return live;
}

PlannedRuns planned(const std::vector<TrainedTrial>& trials, const TrialRuns& how) {
  const LiveTrials live = live_trials(trials);
  const TrainingTimes all = times_of(trials, how);
  TrainingTimes times = all;
  times.iteration_s.clear();
  for (const std::size_t place : live.places) times.iteration_s.push_back(all.iteration_s[place]);
  PlannedRuns of_live = planned_runs(live.repeats, live.sequential, how.repeats, times);
  std::vector<int> of_trial(trials.size());
  for (std::size_t i = 0; i < live.places.size(); ++i) {
    of_trial[live.places[i]] = of_live.of_trial[i];
  }
  of_live.of_trial = std::move(of_trial);
  return of_live;
}

/// The largest number of a repeat that the study has, of trials too that are not among the best any
/// more.
int newest_repeat(const db::Connection& connection, std::int64_t study_id) {
  int newest = 0;
  for (const db::Trial& trial : db::load_trials(connection, study_id)) {
    for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial.id)) {
      newest = std::max(newest, repeat.repeat);
    }
  }
  return newest;
}

class TrialTrainings {
 public:
  TrialTrainings(db::Connection& connection, const TrialRuns& how)
      : connection_(connection),
        how_(how),
        trials_(load_chosen(connection, how)),
        newest_repeat_(newest_repeat(connection, how.study_id)) {}

  void run() {
    claim();
    announce();
    try {
      while (true) {
        const Round round = next();
        if (round.trials.empty()) break;
        for (const auto& together : trainings_of(round, times_of(trials_, how_))) {
          run_repeat(together, round.repeat);
        }
        say_what_is_best();
      }
    } catch (const EndedEarly&) {
      settle();
      throw;
    }
    settle();
  }

 private:
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

  /// Those that were trained are done, and those that were not are planned.
  void settle() {
    for (TrainedTrial& entry : trials_) {
      if (!entry.changes || !is_live(entry)) continue;
      if (entry.repeats.empty()) {
        db::unclaim_trial(connection_, entry.trial.id, entry.trial.failure, entry.trial.error);
      } else {
        finish(entry, "done", "");
      }
    }
  }

  /// Of those that have not failed; by their places in trials_.
  Round next() const {
    const LiveTrials live = live_trials(trials_);
    Round round = next_round(live.repeats, live.sequential, how_.repeats);
    round.repeat = std::max(round.repeat, newest_repeat_ + 1);
    for (std::size_t& i : round.trials) i = live.places[i];
    return round;
  }

  /// Says what will be trained, and how long it takes.
  void announce() const {
    const PlannedRuns plan = planned(trials_, how_);
    if (plan.runs == 0) return;
    how_.say(fmt::format("{} run{} of {} iterations to train in {} training{}, about {}", plan.runs,
                         plan.runs == 1 ? "" : "s", how_.job.steps, plan.trainings,
                         plan.trainings == 1 ? "" : "s", about_so_long(plan.seconds)));
  }

  /// After a round.
  void say_what_is_best() const {
    const LiveTrials live = live_trials(trials_);
    if (std::ranges::all_of(live.repeats, &Repeats::empty)) return;
    const TrainedTrial& best = trials_[live.places[fastest(live.repeats)]];
    std::string text = fmt::format("best so far: {}, {} an iteration", named(best.trial),
                                   db::format_cell("measured_s", seconds_of(best.repeats)));
    if (live.sequential && best.trial.planner != db::kSequential) {
      const auto ratio = times_as_long(live.repeats[*live.sequential], best.repeats);
      if (ratio) text += fmt::format(", {:.2f}x {}", *ratio, db::kSequential);
    }
    const PlannedRuns left = planned(trials_, how_);
    if (left.runs > 0) {
      text += fmt::format("; {} run{} left, about {}", left.runs, left.runs == 1 ? "" : "s",
                          about_so_long(left.seconds));
    }
    how_.say(text);
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
      how_.before_training(training_s(ids, times_of(trials_, how_)));
      return train(how_.job, schedules, how_.job.steps, timelines_of_repeat(), limit_s, how_.alive);
    };
    return train_undisturbed(connection_, train_once, how_.most_of_others, how_.say).results;
  }

  /// Where a training in turns fails, each of its trials is trained alone: one of them is to blame.
  void run_repeat(const std::vector<std::size_t>& ids, int repeat) {
    std::vector<std::string> names;
    for (const std::size_t id : ids) names.push_back(named(trials_[id].trial));
    how_.say(fmt::format(
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
      newest_repeat_ = std::max(newest_repeat_, repeat);
      entry.trial.measured_peak_bytes =
          std::max(entry.trial.measured_peak_bytes.value_or(0), results[i].measured_peak_bytes);
    }
    for (const std::size_t id : ids) say_result(id, repeat);
  }

  void say_result(std::size_t id, int repeat) const {
    const TrainedTrial& entry = trials_[id];
    const double seconds = entry.repeats.at(repeat);
    std::string text =
        fmt::format("  {}: {}", named(entry.trial), db::format_cell("measured_s", seconds));
    if (entry.trial.predicted_s) {
      text += ", predicted " + db::format_cell("predicted_s", *entry.trial.predicted_s);
    }
    for (const TrainedTrial& other : trials_) {
      if (other.trial.planner != db::kSequential || &other == &entry) continue;
      const auto ratio = times_as_long(other.repeats, Repeats{{repeat, seconds}});
      if (ratio) text += fmt::format("; {:.2f}x {}", *ratio, db::kSequential);
    }
    how_.say(text);
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
      how_.warn(spread);
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
  int newest_repeat_ = 0;
};

}  // namespace

void train_trials(db::Connection& connection, const TrialRuns& how) {
  TrialTrainings(connection, how).run();
}

TrialsPlan plan_trials(const db::Connection& connection, const TrialRuns& how) {
  const std::vector<TrainedTrial> trials = load_chosen(connection, how);
  const PlannedRuns plan = planned(trials, how);
  const std::vector<double> seconds = expected_seconds(trials);
  TrialsPlan result{{}, plan.trainings, plan.seconds};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    result.trials.push_back({trials[i].trial, plan.of_trial[i], seconds[i]});
  }
  return result;
}

}  // namespace tuner
