#include "tuner/study/ties.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <stdexcept>

#include "db/console/statistics.h"

namespace tuner {
namespace {

/// The share of Student's distribution between -t and t. [Abramowitz and Stegun 26.7.3, 26.7.4]
double share_within(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (int power = odd ? 1 : 0; power <= degrees - 2; power += 2) {
    sum += term;
    term *= cosine * cosine * (power + 1) / (power + 2);
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

constexpr double kNever = std::numeric_limits<double>::infinity();

/// trial_i and block_j of ties.h; the first is infinite for a trial without blocks. Blocks: Repeats
/// or Turns.
template <typename Blocks>
struct Effects {
  std::vector<double> of_trial;
  std::map<typename Blocks::key_type, double> of_block;
};

/// By medians.
template <typename Blocks>
Effects<Blocks> effects_of(std::span<const Blocks> trials) {
  Effects<Blocks> effects{std::vector<double>(trials.size(), kNever), {}};
  auto& [of_trial, of_block] = effects;
  for (const Blocks& trial : trials) {
    for (const auto& [block, value] : trial) of_block[block] = 0;
  }
  double change = 1;
  for (int round = 0; round < 100 && change > 1e-12; ++round) {
    change = 0;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].empty()) continue;
      std::vector<double> left;
      for (const auto& [block, value] : trials[i]) {
        left.push_back(std::log(value) - of_block[block]);
      }
      const double middle = db::median(std::move(left));
      change = std::max(change, std::abs(middle - of_trial[i]));
      of_trial[i] = middle;
    }
    for (auto& [block, effect] : of_block) {
      std::vector<double> left;
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const auto found = trials[i].find(block);
        if (found != trials[i].end()) left.push_back(std::log(found->second) - of_trial[i]);
      }
      effect = db::median(std::move(left));
    }
  }
  return effects;
}

/// Numbers of repeats between which a chain of common repeats leads, together.
std::vector<std::set<int>> connected_repeats(std::span<const Repeats> trials) {
  std::vector<std::set<int>> groups;
  for (const Repeats& trial : trials) {
    if (trial.empty()) continue;
    std::set<int> joined;
    for (const auto& [number, value] : trial) joined.insert(number);
    std::erase_if(groups, [&](const std::set<int>& group) {
      const bool meets =
          std::ranges::any_of(group, [&](int number) { return joined.contains(number); });
      if (meets) joined.insert(group.begin(), group.end());
      return meets;
    });
    groups.push_back(std::move(joined));
  }
  return groups;
}

/// Trials with repeats, and the numbers of their repeats, have a coefficient each, but one in each
/// group of connected repeats.
int coefficients(std::span<const Repeats> trials) {
  const auto groups = connected_repeats(trials);
  std::size_t count = 0;
  for (const Repeats& trial : trials) count += trial.empty() ? 0 : 1;
  for (const std::set<int>& numbers : groups) count += numbers.size() - 1;
  return static_cast<int>(count);
}

}  // namespace

double median_s(const Turns& turns) {
  std::vector<double> seconds;
  for (const auto& [turn, value] : turns) seconds.push_back(value);
  return db::median(std::move(seconds));
}

double student_t(int degrees, double share) {
  if (degrees < 1) throw std::invalid_argument("student_t: less than one degree of freedom");
  double low = 0, high = 13;  // 12.706 for one
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (share_within(middle, degrees) < share ? low : high) = middle;
  }
  return high;
}

std::optional<Noise> noise_of(std::span<const Repeats> trials) {
  int measured = 0;
  std::map<int, double> of_repeat;
  for (const Repeats& trial : trials) {
    measured += static_cast<int>(trial.size());
    for (const auto& [number, value] : trial) of_repeat[number] = 0;
  }
  const int degrees = measured - coefficients(trials);
  if (degrees < 1) return std::nullopt;
  // Least squares, by fitting trials and repeats in turn until nothing changes.
  std::vector<double> of_trial(trials.size());
  double change = 1;
  for (int round = 0; round < 10'000 && change > 1e-12; ++round) {
    change = 0;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].empty()) continue;
      double sum = 0;
      for (const auto& [number, seconds] : trials[i]) sum += std::log(seconds) - of_repeat[number];
      const double mean = sum / static_cast<double>(trials[i].size());
      change = std::max(change, std::abs(mean - of_trial[i]));
      of_trial[i] = mean;
    }
    for (auto& [number, effect] : of_repeat) {
      double sum = 0;
      int count = 0;
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const auto found = trials[i].find(number);
        if (found == trials[i].end()) continue;
        sum += std::log(found->second) - of_trial[i];
        ++count;
      }
      effect = sum / count;
    }
  }
  double squares = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    for (const auto& [number, seconds] : trials[i]) {
      squares += std::pow(std::log(seconds) - of_trial[i] - of_repeat[number], 2);
    }
  }
  return Noise{std::sqrt(squares / degrees), degrees};
}

double least_difference(const Noise& noise, int repeats) {
  if (repeats < 1) return std::numeric_limits<double>::infinity();
  return student_t(noise.degrees) * noise.deviation * std::sqrt(2.0 / repeats);
}

bool told_apart(const Repeats& a, const Repeats& b, const Noise& noise) {
  double sum = 0;
  int common = 0;
  for (const auto& [number, seconds] : a) {
    const auto other = b.find(number);
    if (other == b.end()) continue;
    sum += std::log(seconds / other->second);
    ++common;
  }
  return common > 0 && std::abs(sum / common) > least_difference(noise, common);
}

std::vector<std::vector<std::size_t>> ties(std::span<const Repeats> trials) {
  std::vector<std::vector<std::size_t>> result(trials.size());
  const std::optional<Noise> noise = noise_of(trials);
  if (!noise) return result;
  const std::vector<double> effects = effects_of(trials).of_trial;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    for (std::size_t other = 0; other < trials.size(); ++other) {
      if (other == i || trials[i].empty() || trials[other].empty()) continue;
      if (!told_apart(trials[i], trials[other], *noise)) result[i].push_back(other);
    }
    std::ranges::stable_sort(result[i], {}, [&](std::size_t other) { return effects[other]; });
  }
  return result;
}

std::vector<double> comparable_seconds(std::span<const Turns> trials, std::size_t reference) {
  if (trials[reference].empty()) {
    throw std::invalid_argument("comparable_seconds: the reference has no turn");
  }
  std::vector<double> seconds = effects_of(trials).of_trial;
  const double scale = median_s(trials[reference]) / std::exp(seconds[reference]);
  for (double& value : seconds) value = std::exp(value) * scale;
  return seconds;
}

RepeatTerms repeat_terms(std::span<const Repeats> trials) {
  const std::map<int, double> of_repeat = effects_of(trials).of_block;
  RepeatTerms terms;
  for (const std::set<int>& numbers : connected_repeats(trials)) {
    std::vector<double>& of_group = terms.emplace_back();
    for (const int number : numbers) of_group.push_back(of_repeat.at(number));
  }
  return terms;
}

std::size_t fastest(std::span<const Repeats> trials) {
  const std::vector<double> effects = effects_of(trials).of_trial;
  const auto least = std::ranges::min_element(effects);
  if (least == effects.end() || *least == kNever) {
    throw std::invalid_argument("fastest: no trial has a repeat");
  }
  return static_cast<std::size_t>(least - effects.begin());
}

}  // namespace tuner
