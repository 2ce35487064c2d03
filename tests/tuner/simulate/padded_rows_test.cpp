// What capacity costs where rows are padded to it.
#include <gtest/gtest.h>

#include "tests/tuner/planners/sharded_situation.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner::padded_rows_test {
namespace {

struct Predicted {
  double seconds = 0, bound_s = 0;
  std::int64_t peak_bytes = 0;
};

Predicted predicted(double capacity_factor, moe::ExchangedRows exchange,
                    const std::string& routing = "uniform") {
  test::ShardedSituation situation;
  situation.model.capacity_factor = capacity_factor;
  situation.model.exchange = exchange;
  const moe::Program program = moe::build_iteration(situation.model, situation.groups, 0);
  const moe::Routing rows = make_routing(routing, program, situation.groups, 1);
  return {
      simulate(program, situation.groups, rows, situation.costs, situation.cluster).duration_s,
      lower_bound(program, situation.groups, rows, situation.costs, situation.cluster).seconds(),
      planned_peak_bytes(program, situation.groups, rows)};
}

TEST(PaddedRows, TakeTheTimeAndMemoryOfTheCapacity) {
  using enum moe::ExchangedRows;
  const Predicted little = predicted(1.2, padded), much = predicted(2.4, padded);
  EXPECT_GT(much.seconds, 1.1 * little.seconds);
  EXPECT_GT(much.bound_s, 1.1 * little.bound_s);
  EXPECT_GT(much.peak_bytes, 1.1 * static_cast<double>(little.peak_bytes));
  EXPECT_LE(much.bound_s, much.seconds);
  EXPECT_EQ(predicted(1.2, irregular).seconds, predicted(2.4, irregular).seconds);
}

TEST(PaddedRows, AreTheSameHoweverTokensChoose) {
  using enum moe::ExchangedRows;
  EXPECT_EQ(predicted(1.2, padded, "zipf:1.2").seconds, predicted(1.2, padded).seconds);
  EXPECT_NE(predicted(1.2, irregular, "zipf:1.2").seconds, predicted(1.2, irregular).seconds);
}

}  // namespace
}  // namespace tuner::padded_rows_test
