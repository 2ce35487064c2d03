#include "tuner/study/undisturbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "db/load.h"
#include "db/records.h"
#include "tuner/study/budget.h"

namespace tuner {
namespace {

/// What its ranks tell of the others on their machines.
WatchedRun watched(const db::Connection& connection, std::vector<JobResult> results) {
  WatchedRun run{std::move(results)};
  if (status_of(run.results) != "done") return run;
  for (const db::RunRank& rank : db::load_run_ranks(connection, run.results.front().run_id)) {
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

WatchedRun least_disturbed(const std::function<WatchedRun()>& train, double most_of_others,
                           const std::function<void(const std::string&)>& say) {
  WatchedRun best = train();
  for (int attempt = 1; attempt < kMostAttempts; ++attempt) {
    if (status_of(best.results) != "done" || best.share_of_others <= most_of_others) break;
    say(fmt::format("  others had {:.0f}% of the processors{}: once more",
                    100 * best.share_of_others, best.host.empty() ? "" : " of " + best.host));
    std::string why_not;
    WatchedRun next;
    try {
      next = train();
      why_not = status_of(next.results);
    } catch (const EndedEarly& early) {
      if (early.is_failure) throw;
      why_not = early.what();
    }
    if (why_not != "done") {
      say(fmt::format("  {}: the run before counts", why_not));
      break;
    }
    if (next.share_of_others < best.share_of_others) best = std::move(next);
  }
  return best;
}

WatchedRun train_undisturbed(const db::Connection& connection,
                             const std::function<std::vector<JobResult>()>& train,
                             double most_of_others,
                             const std::function<void(const std::string&)>& say) {
  const auto train_once = [&] {
    std::vector<JobResult> results = train();
    for (int launch = 1; launch < kMostLaunches && is_no_verdict(status_of(results)); ++launch) {
      const JobResult before = results.front();
      say(fmt::format("  {}: {}: once more", before.status, before.error));
      results = train();
      // A node that is lost starts no rank afterwards: what it was lost in stays the reason.
      if (before.status != db::kLostNode || status_of(results) != db::kNotStarted) continue;
      for (JobResult& result : results) {
        result.status = before.status;
        result.error = fmt::format("{}; then {}: {}", before.error, db::kNotStarted, result.error);
      }
    }
    return watched(connection, std::move(results));
  };
  return least_disturbed(train_once, most_of_others, say);
}

}  // namespace tuner
