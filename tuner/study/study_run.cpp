#include "tuner/study/study_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "db/error.h"
#include "db/load.h"
#include "db/memory_copy.h"
#include "db/store.h"
#include "db/study_runs.h"
#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "moe/stop.h"
#include "tuner/costs/used_fits.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/study/conclusions.h"
#include "tuner/study/prediction_quality.h"
#include "tuner/study/profile_warning.h"
#include "tuner/study/refinement.h"
#include "tuner/study/stored_trainings.h"
#include "tuner/study/study.h"
#include "tuner/study/study_owner.h"
#include "tuner/study/training_plan.h"

namespace tuner {

StudyRun::StudyRun(const StudyOptions& options)
    : options_(options),
      planned_(options_),
      connection_(options.dry_run ? db::copy_in_memory(options.job.database)
                                  : db::open_writer(options.job.database)),
      open_(connection_, options_, planned_.groups, planned_.given) {
  for (PlannerRequest& request : options_.planners) {
    request.options.most_chunks = options_.most_chunks;
  }
}

StudyEnd StudyRun::run() {
  std::optional<EndedEarly> early;
  try {
    prepare();
    do {
      train_trials(connection_, open_.study, trainings_);
    } while (refine());
  } catch (const EndedEarly& ended) {
    options_.say(ended.what());
    early = ended;
  } catch (const moe::Stopped& stopped) {
    open_.abandon("killed", stopped.what());
    throw moe::Stopped(fmt::format("study \"{}\" stopped: {}; --resume goes on with it",
                                   options_.name, stopped.what()),
                       stopped.signal);
  } catch (const TakenOver& error) {
    open_.abandon("killed", error.what());
    throw;
  } catch (const std::exception& error) {
    open_.abandon("failed", error.what());
    throw;
  }
  return conclude(early);
}

StudyEnd StudyRun::plan(ProfilePart part) {
  const std::vector<ProfileSchedule> schedules = schedules_of_profile(part);
  const std::size_t runs = missing_profile_runs(schedules);
  if (shares_profile() || (runs == 0 && part == ProfilePart::whole)) {
    take_profile();
  } else if (!take_costs_of_others()) {
    return without_predictions(runs, schedules.size());
  }
  const double bytes_before = used_bytes(connection_);
  predictions_.predict_all();
  const TrialsPlan trials = plan_trials(connection_, open_.study, trainings_);
  StudyEnd end{.id = open_.study.id, .failure = {}};
  if (trials.of_trials.empty()) {
    end.failure = where_nothing_fits(db::load_trials(connection_, open_.study.id),
                                     options_.job.memory_limit_bytes);
    return end;
  }
  double seconds = trials.seconds;
  if (runs > 0) {
    end.plan = planned_profile(runs, schedules.size(), trials.of_trials.front().iteration_s);
    for (const PlannedTraining& one : end.plan) {
      seconds += one.runs * (one.iterations * *one.iteration_s +
                             // those of a round take turns
                             trials.start_s / static_cast<double>(schedules.size()));
    }
  }
  std::ranges::copy(trials.of_trials, std::back_inserter(end.plan));
  end.planned_s = seconds;
  end.planned_bytes = planned_bytes(end.plan, used_bytes(connection_) - bytes_before);
  options_.say(fmt::format("{} training{} of trials{}: {}{}", trials.trainings,
                           trials.trainings == 1 ? "" : "s", runs > 0 ? ", after the profile" : "",
                           in_all(seconds, end.planned_bytes), not_in_plan()));
  return end;
}

void StudyRun::prepare() {
  take_profile();
  predictions_.adopt_costs();
  predictions_.predict_all();
}

std::vector<std::int64_t> StudyRun::train_profile(bool briefly) {
  const ProfilePart part = briefly ? ProfilePart::brief : ProfilePart::whole;
  profiled_ = run_profiles(connection_, open_.study, schedules_of_profile(part), trainings_);
  planned_.take_places(groups_of_run(connection_, db::load_run(connection_, profiled_.runs.front()),
                                     to_text(planned_.groups.layout)));
  return profiled_.runs;
}

Profile StudyRun::profile_of(const std::vector<std::int64_t>& runs) {
  profile_runs_ = runs;
  Profile profile = profile_with({});
  std::vector<double> errors;
  for (const auto& of_run : profile.errors) std::ranges::copy(of_run, std::back_inserter(errors));
  const auto own = profile.errors.begin();
  const std::vector<ProfileQuality> qualities =
      profile_qualities(profiled_, {own, own + static_cast<std::ptrdiff_t>(profiled_.runs.size())});
  options_.say(fmt::format("the {} profiled iterations are predicted {}; by schedule (medians): {}",
                           errors.size(), within_in_words(errors), errors_by_schedule(qualities)));
  open_.warn(profile_warning(qualities, profiled_.most_of_others));
  open_.warn(profile.remark);
  return profile;
}

void StudyRun::predict_by(const Profile& profile, const moe::Program& profiled,
                          const std::vector<std::int64_t>& runs) {
  profile_runs_ = runs;
  open_.study.profile_runs_json = nlohmann::json(runs).dump();
  db::update_study(connection_, open_.study);
  const std::vector<std::int64_t> refined = last_refinement(open_.study);
  planned_.take(refined.empty() ? carried_profile(profile, profiled, planned_.program)
                                : profile_with(refined));
  const Situation now = planned_.situation();
  const auto rows = moe::bind(now.program, now.routing, now.groups, 0);
  const std::string beyond = beyond_measured(
      fits_used(now.costs, now.program, costs_of(now, now.program).ops, rows, now.groups));
  if (!beyond.empty()) options_.say("predicted beyond the profile: " + beyond);
  predictions_.adopt_costs();
  predictions_.predict_all();
}

bool StudyRun::train_round(int least_repeat) {
  return train_next_round(connection_, open_.study, trainings_, least_repeat);
}

int StudyRun::newest_repeat() const { return tuner::newest_repeat(connection_, open_.study.id); }

bool StudyRun::refine() {
  if (!begin_refinement()) return false;
  predictions_.predict_all();
  return true;
}

std::size_t StudyRun::missing_profile_runs(const std::vector<ProfileSchedule>& schedules) const {
  std::map<std::string, int> known;  // by decisions
  for (const std::int64_t run : own_profile_runs(connection_, open_.study)) {
    ++known[decisions_of_run(connection_, run)];
  }
  int missing = 0;
  for (const ProfileSchedule& one : schedules) {
    missing += std::max(0, *options_.profile_rounds - known[moe::decisions_json(one.schedule)]);
  }
  return static_cast<std::size_t>(missing);
}

bool StudyRun::take_costs_of_others() {
  try {
    Profile profile;
    profile.machine = measured_costs(options_.job.database, {.model_json = open_.study.model_json,
                                                             .ranks = options_.job.ranks,
                                                             .layout = options_.job.layout,
                                                             .network = options_.job.network()})
                          .costed;
    profile.groups = planned_.groups;
    profile.routings = {planned_.expected_routing()};
    planned_.take(profile);
    return true;
  } catch (const moe::InputError& error) {
    options_.say(fmt::format("no costs before the profile: {}", error.what()));
  } catch (const db::Error& error) {
    options_.say(fmt::format("no costs before the profile: {}", error.what()));
  }
  return false;
}

std::vector<PlannedTraining> StudyRun::planned_profile(std::size_t runs, std::size_t schedules,
                                                       std::optional<double> iteration_s) const {
  if (runs == 0) return {};
  const std::size_t all = schedules * static_cast<std::size_t>(*options_.profile_rounds);
  const std::size_t later = std::min(runs, all - schedules);
  std::vector<PlannedTraining> plan;
  if (runs > later) {
    plan.push_back({"profile", "", "{}", static_cast<int>(runs - later),
                    std::max(kProfileSteps, options_.job.steps), iteration_s});
  }
  if (later > 0) {
    plan.push_back({"profile", "", "{}", static_cast<int>(later), kProfileSteps, iteration_s});
  }
  return plan;
}

std::string StudyRun::not_in_plan() const {
  std::string text;
  const auto measures = [](const PlannerRequest& one) { return one.planner->measures; };
  if (options_.micro_profile_steps > 0 && std::ranges::any_of(options_.planners, measures)) {
    text = "micro-profiles";
  }
  if (*options_.refinements > 0) {
    text += text.empty() ? "" : " and ";
    text += "trials that refinements add";
  }
  return text.empty() ? "" : fmt::format("; {} are not in it", text);
}

std::optional<double> StudyRun::planned_bytes(const std::vector<PlannedTraining>& plan,
                                              double predictions) const {
  const auto of_training = bytes_of_training(connection_, open_.study, options_.job.steps);
  if (!of_training) return std::nullopt;
  double bytes = predictions;
  for (const PlannedTraining& one : plan) bytes += one.runs * *of_training;
  return bytes;
}

StudyEnd StudyRun::without_predictions(std::size_t profile_runs, std::size_t schedules) {
  StudyEnd end{.id = open_.study.id, .failure = {}};
  end.plan = planned_profile(profile_runs, schedules, {});
  end.plan.push_back({"trial", db::kSequential, "{}", options_.repeats, options_.job.steps, {}});
  for (const PlannerRequest& request : options_.planners) {
    if (request.planner->name == db::kSequential) continue;
    end.plan.push_back({"trial",
                        std::string(request.planner->name),
                        to_json(request.options),
                        options_.repeats,
                        options_.job.steps,
                        {}});
  }
  options_.say(
      "how long this takes, and which candidates are among the best, is known after the profile; "
      "`moe-tune fit` on measurements of `moe-bench` would tell before");
  return end;
}

StudyEnd StudyRun::conclude(const std::optional<EndedEarly>& early) {
  for (const std::string& line : store_conclusions(connection_, open_.study.id)) {
    options_.say(line);
  }
  const std::vector<db::Trial> trials = db::load_trials(connection_, open_.study.id);
  const std::string nothing_fits = where_nothing_fits(trials, options_.job.memory_limit_bytes);
  if (!nothing_fits.empty()) options_.say(nothing_fits);
  StudyEnd end{.id = open_.study.id, .failure = {}, .ended_early = early.has_value()};
  if (early) open_.add_warning(early->what());
  if (early && early->is_failure) {
    end.failure = early->what();
  } else if (!early || std::ranges::count(trials, "done", &db::Trial::status) > 0) {
    end.failure = why_nothing_compares(trials);  // one that was asked to end may have nothing yet
    open_.add_warning(end.failure);
  }
  open_.finish(end.failure.empty() ? "done" : "failed");
  return end;
}

std::vector<ProfileSchedule> StudyRun::schedules_of_profile(ProfilePart part) const {
  if (part == ProfilePart::none) return {};
  std::vector<ProfileSchedule> schedules = schedules_to_profile(
      planned_.program, planned_.given, options_.planners, options_.most_chunks);
  if (part == ProfilePart::brief) schedules.resize(2);
  return those_that_fit(planned_.program, planned_.groups, planned_.expected_routing(),
                        options_.job.memory_limit_bytes, std::move(schedules), options_.say);
}

bool StudyRun::shares_profile() const {
  const auto runs = db::profile_runs(open_.study).value();
  return !open_.study.part_of.empty() && wants_one_profile() && !runs.empty() &&
         runs != own_profile_runs(connection_, open_.study);
}

void StudyRun::take_profile() {
  const std::vector<std::int64_t> refined = last_refinement(open_.study);
  if (shares_profile()) {
    profile_runs_ = db::profile_runs(open_.study).value();
    return planned_.take(profile_with(refined));
  }
  const Profile own = profile_of(train_profile(false));
  planned_.take(refined.empty() ? own : profile_with(refined));
}

Profile StudyRun::profile_with(const std::vector<std::int64_t>& trials) const {
  return profile_from_runs(connection_, options_.model, to_text(planned_.groups.layout),
                           profile_runs_, trials);
}

bool StudyRun::begin_refinement() {
  const auto number = static_cast<int>(refinements_of(open_.study).size()) + 1;
  if (number > *options_.refinements) return false;
  const std::vector<std::int64_t> runs = runs_of_next_refinement(connection_, open_.study);
  if (runs.empty()) {
    options_.say("no further refinement: the best schedule stays the same");
    return false;
  }
  open_.go_on();
  const std::string before = predicted_within(db::load_trials(connection_, open_.study.id));
  add_refinement(open_.study, runs);
  db::update_study(connection_, open_.study);
  planned_.take(profile_with(runs));
  predictions_.adopt_costs();
  options_.say(fmt::format(
      "refinement {} of {}: with costs fitted to {} measured runs too, trials are predicted {}; "
      "before {}",
      number, *options_.refinements, runs.size(),
      predicted_within(db::load_trials(connection_, open_.study.id)), before));
  return true;
}

}  // namespace tuner
