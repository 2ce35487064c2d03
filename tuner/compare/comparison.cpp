#include "tuner/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include "db/console/statistics.h"

namespace tuner {
namespace {

constexpr int kResamples = 500;
/// Turns next to each other are slow together.
constexpr std::size_t kBlock = 2;
constexpr double kOutside = 0.05;

double median_of(const LogRatios& ratios) {
  std::vector<double> all;
  for (const std::vector<double>& of_repeat : ratios) {
    all.insert(all.end(), of_repeat.begin(), of_repeat.end());
  }
  return db::median(std::move(all));
}

/// Medians of kResamples studies as this one might have been: of one repeat fewer than there are,
/// drawn with replacement, and of each as many turns in blocks. One fewer, since repeats differ
/// less from their own mean than from that of all there could be: that decides where they are two.
std::vector<double> resampled_medians(const LogRatios& ratios, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> medians, drawn;
  for (int i = 0; i < kResamples; ++i) {
    drawn.clear();
    for (std::size_t repeat = 1; repeat < ratios.size(); ++repeat) {
      const std::vector<double>& turns = ratios[random() % ratios.size()];
      for (std::size_t made = 0; made < turns.size();) {
        const std::size_t first = random() % turns.size();
        for (std::size_t at = 0; at < kBlock && made < turns.size(); ++at, ++made) {
          drawn.push_back(turns[(first + at) % turns.size()]);
        }
      }
    }
    medians.push_back(db::median(drawn));
  }
  return medians;
}

}  // namespace

LogRatios log_ratios(const Turns& reference, const Turns& schedule) {
  LogRatios ratios;
  for (const auto& [repeat, turns] : schedule) {
    const auto beside = reference.find(repeat);
    if (beside == reference.end()) continue;
    std::vector<double>& of_repeat = ratios.emplace_back();
    for (const auto& [iteration, seconds] : turns) {
      const auto found = beside->second.find(iteration);
      if (found != beside->second.end()) of_repeat.push_back(std::log(found->second / seconds));
    }
    if (of_repeat.empty()) {
      of_repeat.push_back(std::log(median_s({*beside}) / median_s({{repeat, turns}})));
    }
  }
  return ratios;
}

double speedup_over(const Turns& reference, const Turns& schedule) {
  const LogRatios ratios = log_ratios(reference, schedule);
  return ratios.empty() ? median_s(reference) / median_s(schedule) : std::exp(median_of(ratios));
}

ComparedSchedules compare(std::vector<Turns> schedules, std::optional<std::size_t> sequential) {
  const auto turns_in = [](const Turns& turns) {
    std::size_t count = 0;
    for (const auto& [repeat, of_repeat] : turns) count += of_repeat.size();
    return count;
  };
  ComparedSchedules result{std::move(schedules), 0, {}, {}, 0};
  if (sequential && !result.schedules[*sequential].empty()) {
    result.reference = *sequential;
  } else {
    const auto rank = [&](const Turns& turns) {
      return std::pair(turns_in(turns), turns.empty() ? 0 : -median_s(turns));
    };
    const auto most = std::ranges::max_element(result.schedules, {}, rank);
    if (most == result.schedules.end() || most->empty()) {
      throw std::invalid_argument("compare: no schedule has a turn");
    }
    result.reference = static_cast<std::size_t>(most - result.schedules.begin());
  }
  const Turns& reference = result.schedules[result.reference];
  const double seconds = median_s(reference);
  for (const Turns& schedule : result.schedules) {
    result.speedups.push_back(schedule.empty() ? 0 : speedup_over(reference, schedule));
    result.seconds.push_back(schedule.empty() ? std::numeric_limits<double>::infinity()
                                              : seconds / result.speedups.back());
  }
  result.fastest =
      static_cast<std::size_t>(std::ranges::min_element(result.seconds) - result.seconds.begin());
  return result;
}

std::optional<Interval> interval(const ComparedSchedules& comparison, std::size_t schedule,
                                 std::size_t other) {
  if (schedule == other) return Interval{1, 1};
  const std::vector<Turns>& all = comparison.schedules;
  std::vector<double> differences;
  if (const LogRatios ratios = log_ratios(all[other], all[schedule]); ratios.size() > 1) {
    differences = resampled_medians(ratios, 1);
  } else {
    const Turns& reference = all[comparison.reference];
    const LogRatios own = log_ratios(reference, all[schedule]);
    const LogRatios others = log_ratios(reference, all[other]);
    if (own.size() < 2 || others.size() < 2) return std::nullopt;
    differences = resampled_medians(own, 1);
    const std::vector<double> subtracted = resampled_medians(others, 2);
    for (int i = 0; i < kResamples; ++i) differences[i] -= subtracted[i];
  }
  std::ranges::sort(differences);
  return Interval{std::exp(db::quantile(differences, kOutside / 2)),
                  std::exp(db::quantile(differences, 1 - kOutside / 2))};
}

bool told_apart(const ComparedSchedules& comparison, std::size_t a, std::size_t b) {
  const auto range = interval(comparison, a, b);
  return range && (range->least > 1 || range->most < 1);
}

std::vector<std::size_t> tied_with(const ComparedSchedules& comparison, std::size_t schedule) {
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < comparison.schedules.size(); ++i) {
    if (i == schedule || comparison.schedules[i].empty()) continue;
    if (!told_apart(comparison, schedule, i)) tied.push_back(i);
  }
  std::ranges::sort(tied, {}, [&](std::size_t i) { return comparison.seconds[i]; });
  return tied;
}

}  // namespace tuner
