#include "tuner/scenario/drift.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "moe/kernels/counter_random.h"

namespace tuner {
namespace {

/// Normal, with a standard deviation of 1.
double noise_of(std::uint64_t seed, int iteration, int expert) {
  const std::uint64_t key = moe::mix(moe::mix(seed + 1) ^ static_cast<std::uint64_t>(iteration));
  const std::uint64_t bits = moe::mix(key ^ moe::mix(static_cast<std::uint64_t>(expert)));
  const double radius = std::sqrt(-2 * moe::exact_log(moe::unit(bits)));
  return radius * moe::exact_cosine(moe::unit(moe::mix(bits)));
}

}  // namespace

std::vector<std::vector<double>> drifting_weights(int experts, const Drift& drift,
                                                  std::uint64_t seed) {
  const double kept = 1 - drift.share, added = std::sqrt(1 - kept * kept);
  std::vector<double> score(static_cast<std::size_t>(experts));
  std::vector<int> by_place(static_cast<std::size_t>(experts));
  std::vector<std::vector<double>> weights;
  for (int iteration = 0; iteration < drift.iterations; ++iteration) {
    for (int e = 0; e < experts; ++e) {
      const double noise = noise_of(seed, iteration, e);
      score[e] = iteration == 0 ? noise : kept * score[e] + added * noise;
    }
    std::iota(by_place.begin(), by_place.end(), 0);
    std::ranges::stable_sort(by_place, std::greater<>(), [&](int e) { return score[e]; });
    auto& of_iteration = weights.emplace_back(static_cast<std::size_t>(experts));
    for (int place = 0; place < experts; ++place) {
      of_iteration[by_place[place]] = 1 / std::pow(place + 1.0, drift.exponent);
    }
  }
  return weights;
}

}  // namespace tuner
