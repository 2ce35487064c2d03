#include "tuner/costs/processor_time.h"

#include <algorithm>
#include <utility>

namespace tuner {

ProcessorTime::ProcessorTime(const std::vector<std::vector<db::TimeInterval>>& busy,
                             const SharedProcessors& shared) {
  std::vector<std::pair<double, int>> changes;
  for (const int rank : shared.ranks) {
    for (const db::TimeInterval& interval : busy[rank]) {
      changes.emplace_back(interval.begin_s, 1);
      changes.emplace_back(interval.end_s, -1);
    }
  }
  std::sort(changes.begin(), changes.end());
  int count = 0;
  for (const auto& [time, change] : changes) {
    if (!times_.empty()) sums_.push_back(sums_.back() + shares_.back() * (time - times_.back()));
    if (times_.empty()) sums_.push_back(0);
    count += change;
    times_.push_back(time);
    shares_.push_back(count > 0 ? processor_share(shared, count) : 1);
  }
}

double ProcessorTime::until(double time) const {
  if (times_.empty()) return time;  // no op took any time
  const auto after = std::upper_bound(times_.begin(), times_.end(), time);
  if (after == times_.begin()) return time - times_.front();
  const auto i = static_cast<std::size_t>(after - times_.begin()) - 1;
  return sums_[i] + shares_[i] * (time - times_[i]);
}

}  // namespace tuner
