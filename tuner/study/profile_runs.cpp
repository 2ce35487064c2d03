#include "tuner/study/profile_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/console/statistics.h"
#include "db/store.h"
#include "tuner/study/profile.h"
#include "tuner/study/undisturbed.h"

namespace tuner {
namespace {

constexpr int kSteps = 6;  ///< of a run, warm-up included
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

}  // namespace

ProfileRuns run_profiles(db::Connection& connection, db::Study& study, const TrainingJob& job,
                         std::vector<ProfileSchedule> schedules, int rounds, double most_of_others,
                         const std::function<void()>& alive,
                         const std::function<void(const std::string&)>& say) {
  ProfileRuns result{std::move(schedules), {}, {}};
  result.share_of_others.resize(result.schedules.size());
  std::vector<std::int64_t> stored;
  if (!study.profile_runs_json.empty()) {
    stored = nlohmann::json::parse(study.profile_runs_json).get<std::vector<std::int64_t>>();
  }
  std::vector<std::int64_t> earlier = stored;  // each stands for a schedule in a round
  const auto all = [&] { return static_cast<std::size_t>(rounds) * result.schedules.size(); };
  while (result.runs.size() < all()) {
    const std::size_t i = result.runs.size() % result.schedules.size();
    const ProfileSchedule& one = result.schedules[i];
    const std::string decisions = moe::decisions_json(one.schedule);
    const auto known = std::ranges::find(
        earlier, decisions, [&](std::int64_t run) { return decisions_of_run(connection, run); });
    if (known != earlier.end()) {
      result.runs.push_back(*known);
      earlier.erase(known);
      continue;
    }
    say(fmt::format("profile {}/{}: {}", result.runs.size() + 1, all(), one.what));
    // The first runs as long as a trial, so that its routings are those that trials will see.
    const int steps = std::max(kSteps, result.runs.empty() ? job.steps : 0);
    const auto [trained, share] = train_undisturbed(
        [&] { return train(job, one.schedule, steps, kSteps, kTimeLimit_s, alive); },
        most_of_others, say);
    const bool is_first_round = result.runs.size() < result.schedules.size();
    if (trained.status == "out_of_memory" && is_first_round && gives_way(result.schedules, i)) {
      say("  " + trained.error);
      continue;
    }
    if (trained.status != "done") {
      throw_failure(fmt::format("profile \"{}\"", one.what), trained);
    }
    result.share_of_others[i] = std::max(result.share_of_others[i], std::optional(share));
    result.runs.push_back(trained.run_id);
    stored.push_back(trained.run_id);
    study.profile_runs_json = nlohmann::json(stored).dump();
    db::update_study(connection, study);
  }
  result.share_of_others.resize(result.schedules.size());  // one may have been left out
  return result;
}

std::vector<ProfileQuality> profile_qualities(const ProfileRuns& runs,
                                              const std::vector<std::vector<double>>& errors) {
  std::vector<ProfileQuality> qualities;
  for (std::size_t i = 0; i < runs.schedules.size(); ++i) {
    std::vector<double> of_schedule;
    for (std::size_t run = i; run < errors.size(); run += runs.schedules.size()) {
      of_schedule.insert(of_schedule.end(), errors[run].begin(), errors[run].end());
    }
    qualities.push_back({runs.schedules[i].what, db::median(of_schedule), runs.share_of_others[i]});
  }
  return qualities;
}

}  // namespace tuner
