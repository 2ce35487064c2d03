#include "tuner/planners/gradients/gradient_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace tuner {
namespace {

/// The gradients that an all-reduce of `seconds` reduces: the paper's g_inv.
double reduced_within(const LinearFit& all_reduce, double seconds) {
  const double sending_s = seconds - all_reduce.alpha_s;
  if (sending_s <= 0) return 0;
  return all_reduce.beta_s_per_unit > 0 ? sending_s / all_reduce.beta_s_per_unit
                                        : std::numeric_limits<double>::infinity();
}

/// [part]: the most gradients reduced by its end with which no later part exceeds its own limit.
std::vector<double> attainable(const GradientRest& rest) {
  std::vector<double> most = rest.most_until;
  double limit = rest.total;
  for (auto part = most.rbegin(); part != most.rend(); ++part) {
    limit = *part = std::clamp(*part, 0.0, limit);
  }
  return most;
}

}  // namespace

GradientShares fill_overlappable(std::span<const BackwardPart> parts, const LinearFit& all_reduce) {
  GradientShares shares;
  for (const BackwardPart& part : parts) {
    const double given = std::min(shares.left, reduced_within(all_reduce, part.overlappable_s));
    shares.given.push_back(given);
    shares.left += part.gradients - given;
  }
  return shares;
}

GradientRest rest_after(std::span<const BackwardPart> parts, const GradientShares& first) {
  GradientRest rest;
  rest.total = first.left;
  double exists = 0, given = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    given += first.given[i];
    rest.most_until.push_back(std::max(exists - given, 0.0));
    exists += parts[i].gradients;
  }
  return rest;
}

GradientShares share_exactly(const GradientRest& rest, int quanta) {
  if (quanta < 1) {
    throw std::invalid_argument(fmt::format("share_exactly: {} quanta: expected 1", quanta));
  }
  const std::size_t parts = rest.most_until.size(), states = static_cast<std::size_t>(quanta) + 1;
  const double quantum = rest.total / quanta;
  if (!(quantum > 0)) return {std::vector<double>(parts, 0.0), rest.total};
  const auto most = attainable(rest);
  constexpr double never = std::numeric_limits<double>::infinity();
  // [quanta given until a part]: the least time. `had` has the quanta of that part.
  std::vector<double> least(states, never);
  least[0] = 0;
  std::vector<std::vector<std::size_t>> had(parts, std::vector<std::size_t>(states, 0));
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<double> seconds(states), next(states, never);
    for (std::size_t x = 0; x < states; ++x) {
      seconds[x] = rest.seconds(static_cast<int>(part), static_cast<double>(x) * quantum);
    }
    const auto limit = static_cast<std::size_t>(std::floor(most[part] / quantum + 1e-9));
    for (std::size_t until = 0; until <= std::min(limit, states - 1); ++until) {
      for (std::size_t x = 0; x <= until; ++x) {
        if (const double all = least[until - x] + seconds[x]; all < next[until]) {
          next[until] = all;
          had[part][until] = x;
        }
      }
    }
    least = std::move(next);
  }
  std::size_t best = 0;
  double best_s = never;
  for (std::size_t until = 0; until < states; ++until) {
    const double all =
        least[until] + rest.left_seconds(static_cast<double>(states - 1 - until) * quantum);
    if (all < best_s) {
      best_s = all;
      best = until;
    }
  }
  std::vector<double> given(parts);
  for (std::size_t part = parts; part-- > 0;) {
    given[part] = static_cast<double>(had[part][best]) * quantum;
    best -= had[part][best];
  }
  const double left = std::max(rest.total - std::accumulate(given.begin(), given.end(), 0.0), 0.0);
  return {std::move(given), left};
}

}  // namespace tuner
