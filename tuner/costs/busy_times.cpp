#include "tuner/costs/busy_times.h"

#include <algorithm>
#include <utility>

namespace tuner {
namespace {

std::vector<db::TimeInterval> joined(const std::vector<db::TimeInterval>& a,
                                     const std::vector<db::TimeInterval>& b) {
  std::vector<db::TimeInterval> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return db::merged(std::move(all));
}

}  // namespace

void BusyTimes::merge() {
  const auto of = [this](Occupation a) -> const auto& { return each_[std::size_t(a)]; };
  for (auto& intervals : each_) intervals = db::merged(std::move(intervals));
  links_ = joined(of(Occupation::inter_node), of(Occupation::intra_node));
  processors_ = joined(of(Occupation::computation), of(Occupation::copy));
  for (std::size_t own = 0; own < kOccupations; ++own) {
    for (std::size_t x = 0; x < kOccupations; ++x) {
      if (x == own) continue;
      several_[own] = joined(several_[own], db::common_intervals(others_[own], each_[x]));
      others_[own] = joined(others_[own], each_[x]);
    }
  }
  // A collective that waits for one link while it uses the other is slowed by neither.
  for (const Occupation link : {Occupation::inter_node, Occupation::intra_node}) {
    others_[std::size_t(link)] = processors_;
    several_[std::size_t(link)] =
        db::common_intervals(of(Occupation::computation), of(Occupation::copy));
  }
}

BesideSeconds BusyTimes::beside(Occupation own, db::TimeInterval interval) const {
  BesideSeconds seconds;
  for (std::size_t x = 0; x < kOccupations; ++x) {
    if (x != std::size_t(own)) seconds.each[x] = db::covered_length_s(interval, each_[x]);
  }
  seconds.links = db::covered_length_s(interval, links_);
  seconds.any = db::covered_length_s(interval, others_[std::size_t(own)]);
  seconds.several = db::covered_length_s(interval, several_[std::size_t(own)]);
  return seconds;
}

SharedTime::SharedTime(const std::vector<BusyTimes>& busy, const SharedProcessors& shared) {
  std::vector<std::pair<double, int>> changes;
  for (const int rank : shared.ranks) {
    for (const db::TimeInterval& interval : busy[rank].processors()) {
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

double SharedTime::until(double time) const {
  if (times_.empty()) return time;  // no op took any time
  const auto after = std::upper_bound(times_.begin(), times_.end(), time);
  if (after == times_.begin()) return time - times_.front();
  const auto i = static_cast<std::size_t>(after - times_.begin()) - 1;
  return sums_[i] + shares_[i] * (time - times_[i]);
}

}  // namespace tuner
