#include "tuner/search/least_recomputation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace tuner::least_recomputation_test {
namespace {

/// The least time of all numbers of pieces of each kind in each way.
double by_brute_force(const std::vector<PieceCost>& kinds, const std::vector<int>& counts,
                      double bytes, std::size_t kind = 0) {
  if (kind == kinds.size()) return bytes <= 0 ? 0 : std::numeric_limits<double>::infinity();
  const std::vector<KeptActivations>& kept = kinds[kind].kept;
  double least_s = std::numeric_limits<double>::infinity();
  for (int dense = 0; dense <= counts[kind]; ++dense) {
    for (int whole = 0; dense + whole <= counts[kind]; ++whole) {
      const auto freed = static_cast<double>(dense * (kept[0].bytes - kept[1].bytes) +
                                             whole * (kept[0].bytes - kept[2].bytes));
      const double again_s = dense * kept[1].again_s[0] + whole * kept[2].again_s[0];
      least_s = std::min(least_s, again_s + by_brute_force(kinds, counts, bytes - freed, kind + 1));
    }
  }
  return least_s;
}

TEST(LeastRecomputation, IsThatOfTheBestNumbersOfWholePieces) {
  std::mt19937 random(1);
  const auto up_to = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most)) + 1;
  };
  int below = 0;  // where pieces in part would take less
  for (int draw = 0; draw < 300; ++draw) {
    SCOPED_TRACE(draw);
    std::vector<PieceCost> kinds(static_cast<std::size_t>(up_to(3)));
    std::vector<const PieceCost*> all;
    std::vector<int> counts;
    double most = 0;
    for (PieceCost& kind : kinds) {
      const int least = up_to(10), dense = up_to(10), whole = up_to(20), dense_s = up_to(10);
      kind.kept = {{least + dense + whole, 0, {}, {}},
                   {least + whole, 0, {static_cast<double>(dense_s)}, {}},
                   {least, 0, {static_cast<double>(dense_s + up_to(20))}, {}}};
      all.push_back(&kind);
      counts.push_back(up_to(4) - 1);
      most += counts.back() * (dense + whole);
    }
    const LeastRecomputation again(all, 0);
    const double bytes = most * up_to(110) / 100;
    const double expected = by_brute_force(kinds, counts, bytes);
    EXPECT_DOUBLE_EQ(again.seconds(counts, bytes), expected);
    EXPECT_EQ(again.seconds(counts, 0), 0);
    for (int& count : counts) count *= 100;  // mostly too many to try them all
    if (again.seconds(counts, 100 * bytes) / 100 < expected * (1 - 1e-9)) ++below;
    EXPECT_LE(again.seconds(counts, 100 * bytes) / 100, expected * (1 + 1e-9));
  }
  EXPECT_GT(below, 50);
}

}  // namespace
}  // namespace tuner::least_recomputation_test
