#include "tuner/study/profile_warning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tuner {
namespace {

constexpr double kNoticeableShare = 0.05;

std::string cause(const ProfileQuality& worst, double largest_share) {
  if (!worst.share_of_others) {
    return "What other processes took meanwhile is not known, as an earlier process profiled. "
           "Begin "
           "another study on a quiet machine.";
  }
  // Costs are fitted to all profiles: what disturbed one makes another look wrong.
  return fmt::format(
      "Other processes took {:.0f}% of the processors meanwhile (up to {:.0f}% during a profile): "
      "{}",
      100 * *worst.share_of_others, 100 * largest_share,
      largest_share < kNoticeableShare
          ? "it was not for want of processors; look at the network, at the clock rate, or profile "
            "with more --steps, and begin another study."
          : "end them, or wait for them, and begin another study.");
}

}  // namespace

std::string errors_by_schedule(const std::vector<ProfileQuality>& qualities) {
  std::vector<std::string> texts;
  for (const ProfileQuality& quality : qualities) {
    texts.push_back(fmt::format("{} {:.1f}%", quality.what, 100 * quality.error));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string profile_warning(const std::vector<ProfileQuality>& qualities) {
  const auto worst = std::max_element(
      qualities.begin(), qualities.end(),
      [](const auto& a, const auto& b) { return std::abs(a.error) < std::abs(b.error); });
  if (worst == qualities.end() || std::abs(worst->error) <= kLargestProfileError) return "";
  double largest_share = 0;
  for (const ProfileQuality& quality : qualities) {
    largest_share = std::max(largest_share, quality.share_of_others.value_or(0));
  }
  return fmt::format(
      "WARNING: the costs do not explain the profile they come from: \"{}\" is predicted {:.1f}% "
      "too {} (median). The predictions of this study may be as wrong. {}",
      worst->what, 100 * std::abs(worst->error), worst->error < 0 ? "short" : "long",
      cause(*worst, largest_share));
}

}  // namespace tuner
