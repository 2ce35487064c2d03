#include "tuner/study/ties.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "db/console/statistics.h"

namespace tuner {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

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
  Effects<Blocks> effects{std::vector<double>(trials.size(), kInfinite), {}};
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

/// [trial]: the index of the group that its repeats are in. A trial without repeats has a number
/// that no other trial has.
std::vector<std::size_t> groups_of(std::span<const Repeats> trials,
                                   const std::vector<std::set<int>>& connected) {
  std::vector<std::size_t> groups;
  std::size_t next = connected.size();
  for (const Repeats& trial : trials) {
    const auto found = std::ranges::find_if(connected, [&](const std::set<int>& numbers) {
      return !trial.empty() && numbers.contains(trial.begin()->first);
    });
    groups.push_back(
        found == connected.end() ? next++ : static_cast<std::size_t>(found - connected.begin()));
  }
  return groups;
}

/// The y_ij of one j.
struct Logarithm {
  std::size_t trial = 0;
  double value = 0;
};
/// By number of the repeat.
std::map<int, std::vector<Logarithm>> logarithms_of(std::span<const Repeats> trials) {
  std::map<int, std::vector<Logarithm>> logarithms;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    for (const auto& [number, seconds] : trials[i]) {
      logarithms[number].push_back({i, std::log(seconds)});
    }
  }
  return logarithms;
}

using Matrix = std::vector<std::vector<double>>;

/// matrix x trial_i = right, where the repeats have been eliminated. As only differences within a
/// group are known, the sum of its trial_i is set to 0. [Montgomery, 4.4: the intrablock analysis]
struct NormalEquations {
  Matrix matrix;  ///< symmetric and positive definite
  std::vector<double> right;
};

NormalEquations normal_equations(const std::map<int, std::vector<Logarithm>>& logarithms,
                                 const std::vector<std::size_t>& groups) {
  const std::size_t count = groups.size();
  NormalEquations equations{Matrix(count, std::vector<double>(count)), std::vector<double>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t other = 0; other < count; ++other) {
      if (groups[i] == groups[other]) equations.matrix[i][other] = 1;
    }
  }
  for (const auto& [number, of_repeat] : logarithms) {
    const auto size = static_cast<double>(of_repeat.size());
    double mean = 0;
    for (const Logarithm& of_trial : of_repeat) mean += of_trial.value / size;
    for (const auto& [i, value] : of_repeat) {
      equations.right[i] += value - mean;
      equations.matrix[i][i] += 1;
      for (const Logarithm& other : of_repeat) equations.matrix[i][other.trial] -= 1 / size;
    }
  }
  return equations;
}

/// Of a symmetric and positive definite matrix, by elimination: no pivot is near 0.
Matrix inverse_of(Matrix matrix) {
  const std::size_t count = matrix.size();
  Matrix inverse(count, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i) inverse[i][i] = 1;
  for (std::size_t pivot = 0; pivot < count; ++pivot) {
    const double scale = 1 / matrix[pivot][pivot];
    for (std::size_t column = 0; column < count; ++column) {
      matrix[pivot][column] *= scale;
      inverse[pivot][column] *= scale;
    }
    for (std::size_t row = 0; row < count; ++row) {
      if (row == pivot) continue;
      const double factor = matrix[row][pivot];
      for (std::size_t column = 0; column < count; ++column) {
        matrix[row][column] -= factor * matrix[pivot][column];
        inverse[row][column] -= factor * inverse[pivot][column];
      }
    }
  }
  return inverse;
}

/// s of ties.h, given trial_i and how many groups they are in. repeat_j is the mean of what they
/// leave of the repeat.
std::optional<Noise> noise_about(const std::map<int, std::vector<Logarithm>>& logarithms,
                                 const std::vector<double>& trial_terms, std::size_t groups) {
  std::set<std::size_t> trials;
  std::size_t measurements = 0;
  double squares = 0;
  for (const auto& [number, of_repeat] : logarithms) {
    std::vector<double> left;
    for (const auto& [i, value] : of_repeat) {
      left.push_back(value - trial_terms[i]);
      trials.insert(i);
    }
    measurements += left.size();
    const double mean =
        std::accumulate(left.begin(), left.end(), 0.0) / static_cast<double>(left.size());
    for (const double value : left) squares += (value - mean) * (value - mean);
  }
  // There are never more coefficients than measurements.
  const auto degrees = static_cast<int>(measurements + groups - trials.size() - logarithms.size());
  if (degrees < 1) return std::nullopt;
  return Noise{std::sqrt(squares / degrees), degrees};
}

}  // namespace

std::vector<Repeats> repeats_of(std::span<const Turns> trials) {
  std::map<int, std::vector<Turns>> by_repeat;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    for (const auto& [turn, seconds] : trials[i]) {
      std::vector<Turns>& of_repeat = by_repeat[turn.first];
      of_repeat.resize(trials.size());
      of_repeat[i][turn] = seconds;
    }
  }
  std::vector<Repeats> result(trials.size());
  for (const auto& [number, of_repeat] : by_repeat) {
    const std::vector<double> effects = effects_of<Turns>(of_repeat).of_trial;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (!of_repeat[i].empty()) result[i][number] = std::exp(effects[i]);
    }
  }
  return result;
}

double median_s(const Turns& turns) {
  std::vector<double> seconds;
  for (const auto& [turn, value] : turns) seconds.push_back(value);
  return db::median(std::move(seconds));
}

Differences differences_of(std::span<const Repeats> trials) {
  const std::size_t count = trials.size();
  const std::vector<std::set<int>> connected = connected_repeats(trials);
  const std::vector<std::size_t> groups = groups_of(trials, connected);
  const auto logarithms = logarithms_of(trials);
  const NormalEquations equations = normal_equations(logarithms, groups);
  const Matrix inverse = inverse_of(equations.matrix);
  std::vector<double> of_trial(count);
  for (std::size_t i = 0; i < count; ++i) {
    of_trial[i] =
        std::inner_product(inverse[i].begin(), inverse[i].end(), equations.right.begin(), 0.0);
  }
  Differences result{noise_about(logarithms, of_trial, connected.size()),
                     Matrix(count, std::vector<double>(count)),
                     Matrix(count, std::vector<double>(count))};
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      result.estimate[a][b] = of_trial[a] - of_trial[b];
      const double covariance = inverse[std::min(a, b)][std::max(a, b)];
      result.variance[a][b] =
          groups[a] == groups[b] ? inverse[a][a] + inverse[b][b] - 2 * covariance : kInfinite;
    }
  }
  return result;
}

double least_difference(const Noise& noise, double variance) {
  return db::student_t(noise.degrees) * noise.deviation * std::sqrt(variance);
}

bool told_apart(const Differences& differences, std::size_t a, std::size_t b) {
  const double variance = differences.variance[a][b];
  return differences.noise && std::isfinite(variance) &&
         std::abs(differences.estimate[a][b]) > least_difference(*differences.noise, variance);
}

std::vector<std::vector<std::size_t>> ties(std::span<const Repeats> trials,
                                           const Differences& differences) {
  std::vector<std::vector<std::size_t>> result(trials.size());
  if (!differences.noise) return result;
  const std::vector<double> effects = effects_of(trials).of_trial;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    for (std::size_t other = 0; other < trials.size(); ++other) {
      if (other == i || trials[i].empty() || trials[other].empty()) continue;
      if (!told_apart(differences, i, other)) result[i].push_back(other);
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
  if (least == effects.end() || *least == kInfinite) {
    throw std::invalid_argument("fastest: no trial has a repeat");
  }
  return static_cast<std::size_t>(least - effects.begin());
}

}  // namespace tuner
