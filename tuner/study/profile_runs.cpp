#include "tuner/study/profile_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "db/console/statistics.h"
#include "db/store.h"
#include "tuner/study/profile.h"
#include "tuner/study/undisturbed.h"

namespace tuner {
namespace {

constexpr int kSteps = 6;  ///< of a run, warm-up included
constexpr double kTimeLimit_s = 900;

}  // namespace

ProfileRuns run_profiles(db::Connection& connection, db::Study& study, const TrainingJob& job,
                         const std::vector<ProfileSchedule>& schedules, int rounds,
                         double most_of_others, const std::function<void()>& alive,
                         const std::function<void(const std::string&)>& say) {
  ProfileRuns result{{}, std::vector<std::optional<double>>(schedules.size())};
  std::vector<std::int64_t> stored;
  if (!study.profile_runs_json.empty()) {
    stored = nlohmann::json::parse(study.profile_runs_json).get<std::vector<std::int64_t>>();
  }
  std::vector<std::int64_t> earlier = stored;  // each stands for a schedule in a round
  const std::size_t all = static_cast<std::size_t>(rounds) * schedules.size();
  while (result.runs.size() < all) {
    const std::size_t i = result.runs.size() % schedules.size();
    const std::string decisions = moe::decisions_json(schedules[i].schedule);
    const auto known = std::ranges::find(
        earlier, decisions, [&](std::int64_t run) { return decisions_of_run(connection, run); });
    if (known != earlier.end()) {
      result.runs.push_back(*known);
      earlier.erase(known);
      continue;
    }
    say(fmt::format("profile {}/{}: {}", result.runs.size() + 1, all, schedules[i].what));
    // The first runs as long as a trial, so that its routings are those that trials will see.
    const int steps = std::max(kSteps, result.runs.empty() ? job.steps : 0);
    const auto [trained, share] = train_undisturbed(
        [&] { return train(job, schedules[i].schedule, steps, kSteps, kTimeLimit_s, alive); },
        most_of_others, say);
    if (trained.status != "done") {
      throw_failure(fmt::format("profile \"{}\"", schedules[i].what), trained);
    }
    result.share_of_others[i] = std::max(result.share_of_others[i], std::optional(share));
    result.runs.push_back(trained.run_id);
    stored.push_back(trained.run_id);
    study.profile_runs_json = nlohmann::json(stored).dump();
    db::update_study(connection, study);
  }
  return result;
}

std::vector<ProfileQuality> profile_qualities(const std::vector<ProfileSchedule>& schedules,
                                              const ProfileRuns& runs,
                                              const std::vector<std::vector<double>>& errors) {
  std::vector<ProfileQuality> qualities;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    std::vector<double> of_schedule;
    for (std::size_t run = i; run < errors.size(); run += schedules.size()) {
      of_schedule.insert(of_schedule.end(), errors[run].begin(), errors[run].end());
    }
    qualities.push_back({schedules[i].what, db::median(of_schedule), runs.share_of_others[i]});
  }
  return qualities;
}

}  // namespace tuner
