#include "tuner/study/profile_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/load.h"
#include "db/store.h"
#include "db/study_runs.h"
#include "tuner/study/profile.h"

namespace tuner {
namespace {

constexpr double kTimeLimit_s = 900;

/// Puts the next leaner schedule in the place of one that ran out of memory, or leaves it out.
/// False where it is the last one.
bool gives_way(std::vector<ProfileSchedule>& schedules, std::size_t i) {
  std::vector<ProfileSchedule> instead = std::move(schedules[i].instead);
  if (!instead.empty()) {
    schedules[i] = std::move(instead.front());
    schedules[i].instead.assign(std::make_move_iterator(instead.begin() + 1),
                                std::make_move_iterator(instead.end()));
    return true;
  }
  if (schedules.size() == 1) return false;
  schedules.erase(schedules.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

class ProfileTrainings {
 public:
  ProfileTrainings(db::Connection& connection, db::Study& study,
                   std::vector<ProfileSchedule> schedules, const StudyTrainings& how)
      : connection_(connection),
        study_(study),
        rounds_(*how.options.profile_rounds),
        how_(how),
        result_{std::move(schedules), {}},
        stored_(db::profile_runs(study).value()),
        earlier_(own_profile_runs(connection, study)) {}

  ProfileRuns run() {
    while (result_.runs.size() < static_cast<std::size_t>(rounds_) * schedules()) {
      if (const auto known = earlier_run(place())) {
        result_.runs.push_back(*known);
        earlier_.erase(std::ranges::find(earlier_, *known));
      } else {
        train_from(place());
      }
    }
    return std::move(result_);
  }

 private:
  std::size_t schedules() const { return result_.schedules.size(); }
  /// Of the schedule that comes next.
  std::size_t place() const { return result_.runs.size() % schedules(); }
  bool in_first_round() const { return result_.runs.size() < schedules(); }

  /// A run of this schedule from before that stands for no other round yet.
  std::optional<std::int64_t> earlier_run(std::size_t place) const {
    const std::string decisions = moe::decisions_json(result_.schedules[place].schedule);
    const auto known = std::ranges::find(
        earlier_, decisions, [&](std::int64_t run) { return decisions_of_run(connection_, run); });
    return known == earlier_.end() ? std::nullopt : std::optional(*known);
  }

  /// How many schedules from `first` on take turns in one training. One that changes results would
  /// change the losses of all.
  std::size_t count_of_turns(std::size_t first) const {
    const auto alone = [&](std::size_t i) {
      return each_alone_ || !moe::changes_results(result_.schedules[i].schedule).empty();
    };
    std::size_t end = first + 1;
    if (alone(first)) return 1;
    while (end < schedules() && !alone(end) && !earlier_run(end)) ++end;
    return end - first;
  }

  void train_from(std::size_t first) {
    const std::size_t count = count_of_turns(first);
    std::vector<moe::Schedule> turns;
    std::vector<std::string> names;
    for (std::size_t i = first; i < first + count; ++i) {
      turns.push_back(result_.schedules[i].schedule);
      names.push_back(result_.schedules[i].what);
    }
    how_.options.say(fmt::format("profile, round {} of {}{}: {}",
                                 result_.runs.size() / schedules() + 1, rounds_,
                                 count > 1 ? ", in turns" : "", fmt::join(names, "; ")));
    // In the first round as long as a trial, so that its routings are those that trials will see.
    const int steps =
        in_first_round() ? std::max(kProfileSteps, how_.options.job.steps) : kProfileSteps;
    const double limit_s = kTimeLimit_s * static_cast<double>(count);
    const auto [trained, share, host] =
        train(connection_, how_, {turns, steps, kProfileSteps, limit_s, {}});
    const std::string& status = status_of(trained);
    const std::string& error = trained.front().error;
    if (status == "done") {
      keep(trained, share);
    } else if (is_no_verdict(status)) {
      throw_failure("the profile", trained.front());
    } else if (count > 1) {
      how_.options.say(fmt::format("  {}: {}: each is trained alone", status, error));
      each_alone_ = true;
    } else if (status == "out_of_memory" && in_first_round() &&
               gives_way(result_.schedules, first)) {
      how_.options.say("  " + error);
    } else {
      throw_failure(fmt::format("profile \"{}\"", names.front()), trained.front());
    }
  }

  void keep(const std::vector<JobResult>& trained, double share) {
    result_.most_of_others = std::max(result_.most_of_others, std::optional(share));
    for (const JobResult& one : trained) {
      result_.runs.push_back(one.run_id);
      stored_.push_back(one.run_id);
    }
    study_.profile_runs_json = nlohmann::json(stored_).dump();
    db::update_study(connection_, study_);
  }

  db::Connection& connection_;
  db::Study& study_;
  const int rounds_;
  const StudyTrainings& how_;
  ProfileRuns result_;
  std::vector<std::int64_t> stored_;
  std::vector<std::int64_t> earlier_;  ///< each stands for a schedule in a round
  bool each_alone_ = false;            ///< turns have failed: one schedule is to blame
};

}  // namespace

std::vector<std::int64_t> own_profile_runs(const db::Connection& connection,
                                           const db::Study& study) {
  std::vector<std::int64_t> runs = db::profile_runs(study).value();
  std::erase_if(
      runs, [&](std::int64_t run) { return db::load_run(connection, run).layout != study.layout; });
  return runs;
}

ProfileRuns run_profiles(db::Connection& connection, db::Study& study,
                         std::vector<ProfileSchedule> schedules, const StudyTrainings& how) {
  return ProfileTrainings(connection, study, std::move(schedules), how).run();
}

}  // namespace tuner
