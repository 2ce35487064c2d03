#include "db/timeline/typical.h"

#include <algorithm>
#include <cmath>

namespace db {
namespace {

constexpr int kWarmup = 2;  ///< iterations that touch memory for the first time

double duration_of(const TimelineInfo* timeline) { return timeline->duration_s; }

}  // namespace

const TimelineInfo* typical_timeline(std::vector<const TimelineInfo*> timelines,
                                     std::optional<double> figure_s) {
  const auto keep = [&](const auto& wanted) {
    if (std::ranges::none_of(timelines, wanted)) return;
    std::erase_if(timelines, [&](const TimelineInfo* one) { return !wanted(one); });
  };
  keep([](const TimelineInfo* one) { return one->kind == kMeasured; });
  keep([](const TimelineInfo* one) { return one->iteration > kWarmup; });
  if (timelines.empty()) return nullptr;
  if (!figure_s) {
    const auto middle = timelines.begin() + static_cast<std::ptrdiff_t>((timelines.size() - 1) / 2);
    std::ranges::nth_element(timelines, middle, {}, duration_of);
    figure_s = (*middle)->duration_s;
  }
  const auto away_s = [&](const TimelineInfo* one) {
    return std::abs(one->duration_s - *figure_s);
  };
  std::ranges::reverse(timelines);
  return *std::ranges::min_element(timelines, {}, away_s);
}

}  // namespace db
