#include <gtest/gtest.h>

#include "tests/tuner/planners/even_situation.h"
#include "tuner/planners/mpmoe/mpmoe.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::pmoe_test {
namespace {

using test::line;

/// MoE layers in which nothing takes time but an exchange (1 s) and the experts forward (2 s).
struct TimedLayers : test::EvenSituation {
  double exchange_bytes = 0;  ///< of a rank

  TimedLayers() : EvenSituation(test::two_moe_layers(), 4, {1e15, 0}) {
    for (const char* unit : {"gemm", "memory"}) costs.fits[unit] = line(0);
    costs.fits["all_to_all/inter_node"] = costs.fits["expert_linear"] = line(0, 1);
    const std::vector<double> units = alone_seconds(situation, costs_of(situation, program));
    double flops = 0;  // of a layer
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (program.ops[i].layer != 0) continue;
      if (moe::is_all_to_all(program.ops[i])) exchange_bytes = units[i];
      if (std::holds_alternative<moe::ExpertLinear>(program.ops[i].kind)) flops += units[i];
    }
    costs.fits["expert_linear"] = line(0, 2 / flops);
  }
  int best_partitions(const LinearFit& exchange) {
    costs.fits["all_to_all/inter_node"] = exchange;
    return degrees_of(plan_pmoe(situation, {})).forward;
  }
};

/// With one line two partitions are best, as starts cost more than they hide [beside MPMoE Fig. 14,
/// which has 4 and 8 of many tokens]. Where large messages take longer by the byte, as pieces can
/// say, the best number is that of pieces small enough.
TEST(Pmoe, PiecesOfTheExchangesTimeChangeTheBestPartitions) {
  TimedLayers layers;
  const double bytes = layers.exchange_bytes;
  EXPECT_EQ(layers.best_partitions(line(0.2, 0.8 / bytes)), 2);
  const LinearFit pieces =
      fit_points({{0, 0.2}, {bytes / 4, 0.2 + 0.2}, {bytes, 0.2 + 0.2 + 1.8}}, "byte");
  EXPECT_EQ(layers.best_partitions(pieces), 4) << "where the slow piece begins";
}

}  // namespace
}  // namespace tuner::pmoe_test
