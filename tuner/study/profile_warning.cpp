#include "tuner/study/profile_warning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "db/console/statistics.h"

namespace tuner {
namespace {

constexpr double kNoticeableShare = 0.05;

/// Costs are fitted to all profiles: what disturbed one makes another look wrong.
std::string cause(std::optional<double> most_of_others) {
  if (!most_of_others) {
    return "What other processes took meanwhile is not known, as an earlier process profiled. "
           "Begin another study on a quiet machine.";
  }
  return fmt::format(
      "Other processes took up to {:.0f}% of the processors during a profile: {}",
      100 * *most_of_others,
      *most_of_others < kNoticeableShare
          ? "it was not for want of processors; look at the network, at the clock rate, or profile "
            "with more --steps, and begin another study."
          : "end them, or wait for them, and begin another study.");
}

}  // namespace

std::vector<ProfileQuality> profile_qualities(const ProfileRuns& runs,
                                              const std::vector<std::vector<double>>& errors) {
  std::vector<ProfileQuality> qualities;
  for (std::size_t i = 0; i < runs.schedules.size(); ++i) {
    std::vector<double> of_schedule;
    for (std::size_t run = i; run < errors.size(); run += runs.schedules.size()) {
      of_schedule.insert(of_schedule.end(), errors[run].begin(), errors[run].end());
    }
    qualities.push_back({runs.schedules[i].what, db::median(of_schedule)});
  }
  return qualities;
}

std::string errors_by_schedule(const std::vector<ProfileQuality>& qualities) {
  std::vector<std::string> texts;
  for (const ProfileQuality& quality : qualities) {
    texts.push_back(fmt::format("{} {:.1f}%", quality.what, 100 * quality.error));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string profile_warning(const std::vector<ProfileQuality>& qualities,
                            std::optional<double> most_of_others) {
  const auto worst = std::ranges::max_element(
      qualities, {}, [](const ProfileQuality& one) { return std::abs(one.error); });
  if (worst == qualities.end() || std::abs(worst->error) <= kLargestProfileError) return "";
  return fmt::format(
      "WARNING: the costs do not explain the profile they come from: \"{}\" is predicted {:.1f}% "
      "too {} (median). The predictions of this study may be as wrong. {}",
      worst->what, 100 * std::abs(worst->error), worst->error < 0 ? "short" : "long",
      cause(most_of_others));
}

}  // namespace tuner
