#include "db/console/progress.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace db {

std::optional<double> TurnsToSpeak::now() {
  const double passed_s = std::chrono::duration<double>(Clock::now() - begun_).count();
  if (passed_s < next_s_) return std::nullopt;
  constexpr double longest_s = 30;
  next_s_ = passed_s + std::min(passed_s, longest_s);
  return passed_s;
}

Progress::Progress(std::string task, double total, double silent_s)
    : task_(std::move(task)), total_(total), turns_(silent_s) {}

void Progress::at(double done) {
  const std::optional<double> now_s = turns_.now();
  if (!now_s) return;
  const double passed_s = *now_s;
  const double share = total_ > 0 ? std::clamp(done / total_, 0.0, 1.0) : 0;
  if (share <= 0) {
    spdlog::info("{}: {:.0f} s so far", task_, passed_s);
  } else {
    spdlog::info("{}: {:.0f}% after {:.0f} s, about {:.0f} s left", task_, 100 * share, passed_s,
                 passed_s * (1 - share) / share);
  }
}

}  // namespace db
