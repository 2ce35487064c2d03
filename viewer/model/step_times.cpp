#include "viewer/model/step_times.h"

#include <algorithm>
#include <map>

#include "db/console/statistics.h"

namespace viewer {

namespace {

constexpr std::size_t kWarmup = 2;  // iterations

}  // namespace

StepTimes step_times(const std::vector<db::Iteration>& iterations) {
  StepTimes times;
  std::vector<double> durations;
  const std::size_t first = iterations.size() > kWarmup ? kWarmup : 0;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (i >= first) durations.push_back(iterations[i].duration_s);
    const bool other = i > 0 && iterations[i].schedule_id != iterations[i - 1].schedule_id;
    if (other) times.changes.push_back(iterations[i].iteration);
  }
  if (durations.empty()) return times;
  std::sort(durations.begin(), durations.end());
  times.median_s = db::quantile(durations, 0.5);
  times.p5_s = db::quantile(durations, 0.05);
  times.p95_s = db::quantile(durations, 0.95);
  return times;
}

std::vector<db::Iteration> median_steps(const std::vector<std::vector<db::Iteration>>& runs) {
  std::map<int, std::vector<double>> durations;
  for (const std::vector<db::Iteration>& run : runs) {
    for (const db::Iteration& row : run) durations[row.iteration].push_back(row.duration_s);
  }
  std::vector<db::Iteration> medians;
  for (const auto& [iteration, of] : durations) {
    db::Iteration& row = medians.emplace_back();
    row.iteration = iteration;
    row.duration_s = db::median(of);
  }
  return medians;
}

}  // namespace viewer
