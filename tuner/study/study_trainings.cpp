#include "tuner/study/study_trainings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "db/load.h"
#include "db/records.h"
#include "tuner/study/budget.h"

namespace tuner {
namespace {

constexpr double kLeastTrialLimit_s = 120;
/// a trial that takes so many times its prediction counts as hanging
constexpr double kSlack = 10;

/// Again where no rank was started, with what its ranks tell of the others on their machines.
WatchedRun launch(const db::Connection& connection, const StudyOptions& options,
                  const std::function<std::vector<JobResult>()>& train_once) {
  WatchedRun run{train_once()};
  std::vector<JobResult>& results = run.results;
  for (int times = 1; times < kMostLaunches && is_no_verdict(status_of(results)); ++times) {
    const JobResult before = results.front();
    options.say(fmt::format("  {}: {}: once more", before.status, before.error));
    results = train_once();
    // A node that is lost starts no rank afterwards: what it was lost in stays the reason.
    if (before.status != db::kLostNode || status_of(results) != db::kNotStarted) continue;
    for (JobResult& result : results) {
      result.status = before.status;
      result.error = fmt::format("{}; then {}: {}", before.error, db::kNotStarted, result.error);
    }
  }
  if (status_of(results) != "done") return run;
  for (const db::RunRank& rank : db::load_run_ranks(connection, results.front().run_id)) {
    if (rank.share_of_others.value_or(0) <= run.share_of_others) continue;
    run.share_of_others = *rank.share_of_others;
    run.host = rank.hostname;
  }
  return run;
}

}  // namespace

const std::string& status_of(const std::vector<JobResult>& results) {
  const auto failed = std::ranges::find_if(
      results, [](const JobResult& result) { return result.status != "done"; });
  return failed == results.end() ? results.front().status : failed->status;
}

WatchedRun train_undisturbed(const db::Connection& connection, const StudyOptions& options,
                             const std::function<std::vector<JobResult>()>& train_once) {
  WatchedRun best = launch(connection, options, train_once);
  for (int attempt = 1; attempt < kMostAttempts; ++attempt) {
    if (status_of(best.results) != "done") break;
    if (best.share_of_others <= options.most_of_others.value_or(kUsualOthers)) break;
    options.say(fmt::format("  others had {:.0f}% of the processors of {}: once more",
                            100 * best.share_of_others, best.host));
    std::string why_not;
    WatchedRun next;
    try {
      next = launch(connection, options, train_once);
      why_not = status_of(next.results);
    } catch (const EndedEarly& early) {
      if (early.is_failure) throw;
      why_not = early.what();
    }
    if (why_not != "done") {
      options.say(fmt::format("  {}: the run before counts", why_not));
      break;
    }
    if (next.share_of_others < best.share_of_others) best = std::move(next);
  }
  return best;
}

WatchedRun train(const db::Connection& connection, const StudyTrainings& how,
                 const StudyTraining& one) {
  WatchedRun run = train_undisturbed(connection, how.options, [&] {
    how.before_training(one.expected_s);
    return train(how.options.job, one.schedules, one.steps, one.timelines, one.limit_s, how.alive);
  });
  if (status_of(run.results) == "done") how.check_run(run.results.front().run_id);
  return run;
}

double trial_time_limit_s(const StudyOptions& options, double predicted_s) {
  if (options.trial_time_limit_s > 0) return options.trial_time_limit_s;
  return kLeastTrialLimit_s + kSlack * predicted_s * options.job.steps;
}

}  // namespace tuner
