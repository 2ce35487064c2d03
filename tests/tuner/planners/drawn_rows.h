#pragma once

#include <random>

#include "moe/rows/routing.h"

/// Loads at random.
namespace tuner::test {

/// Some experts far more popular than others, and with every source some of its own.
inline moe::LayerRouting draw_rows(std::mt19937& random, int sources, int experts) {
  moe::LayerRouting routing{0, experts, {}, 0};
  std::vector<std::int64_t> popular;
  for (int expert = 0; expert < experts; ++expert) {
    popular.push_back(
        1 + static_cast<std::int64_t>(random() % 4 == 0 ? random() % 400 : random() % 40));
  }
  for (int source = 0; source < sources; ++source) {
    auto& row = routing.tokens.emplace_back();
    for (const std::int64_t most : popular) {
      row.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * most)));
    }
  }
  return routing;
}

}  // namespace tuner::test
