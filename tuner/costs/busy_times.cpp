#include "tuner/costs/busy_times.h"

#include <utility>

namespace tuner {
namespace {

bool may_slow(std::size_t x, Occupation own) {
  return x != std::size_t(own) && !(is_link(own) && is_link(Occupation(x)));
}

}  // namespace

void BusyTimes::merge() {
  for (auto& intervals : each_) intervals = db::merged(std::move(intervals));
  for (std::size_t own = 0; own < kOccupations; ++own) {
    std::vector<db::TimeInterval>& others = others_[own];
    for (std::size_t x = 0; x < kOccupations; ++x) {
      if (may_slow(x, Occupation(own)))
        others.insert(others.end(), each_[x].begin(), each_[x].end());
    }
    others = db::merged(std::move(others));
  }
}

BesideSeconds BusyTimes::beside(Occupation own, db::TimeInterval interval) const {
  BesideSeconds seconds;
  for (std::size_t x = 0; x < kOccupations; ++x) {
    if (may_slow(x, own)) seconds.each[x] = db::covered_length_s(interval, each_[x]);
  }
  seconds.any = db::covered_length_s(interval, others_[std::size_t(own)]);
  return seconds;
}

}  // namespace tuner
