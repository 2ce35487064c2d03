#include "tuner/study/undisturbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/study/processor_time.h"

namespace tuner {

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
    say(fmt::format("  others had {:.0f}% of the processors: once more",
                    100 * best.share_of_others));
    WatchedRun next = train();
    if (status_of(next.results) != "done") {
      say(fmt::format("  {}: the run before counts", status_of(next.results)));
      break;
    }
    if (next.share_of_others < best.share_of_others) best = std::move(next);
  }
  return best;
}

WatchedRun train_undisturbed(const std::function<std::vector<JobResult>()>& train,
                             double most_of_others,
                             const std::function<void(const std::string&)>& say) {
  const auto watched = [&] {
    const ProcessorTime before = processor_time();
    WatchedRun run{train(), 0};
    run.share_of_others = share_of_others(before, processor_time());
    return run;
  };
  return least_disturbed(watched, most_of_others, say);
}

}  // namespace tuner
