#include "tuner/planners/mpmoe/performance_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "tests/tuner/planners/even_situation.h"
#include "tuner/planners/mpmoe/memory_reuse.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::mpmoe::performance_model_test {
namespace {

TEST(MpmoePerformanceModel, APhaseIsAsLongAsItsBusiestStreamSlowedDown) {
  Interference alphas;
  speed_of(alphas, Occupation::inter_node, Occupation::computation) = 0.8;
  speed_of(alphas, Occupation::computation, Occupation::inter_node) = 0.5;
  alphas.beside_all[static_cast<std::size_t>(Occupation::inter_node)] = 0.4;
  EXPECT_DOUBLE_EQ(phase_s(alphas, 4, 2, 0), 5);   // communication, at 0.8
  EXPECT_DOUBLE_EQ(phase_s(alphas, 4, 3, 0), 6);   // computation, at 0.5
  EXPECT_DOUBLE_EQ(phase_s(alphas, 4, 2, 1), 10);  // beside both
  EXPECT_DOUBLE_EQ(phase_s(alphas, 4, 0, 0), 4);   // beside nothing
}

TEST(MpmoePerformanceModel, PhasesOfAPipelineWorkedByHand) {
  const PartitionTimes without{.send = 2, .compute = 3, .back = 1};
  EXPECT_DOUBLE_EQ(pipeline_s({}, Copies::after, 1, without), 6);
  // S0 2, S1 C0 3, R0 C1 3, R1 1; with four: twice R S C 3 between them.
  EXPECT_DOUBLE_EQ(pipeline_s({}, Copies::ahead, 2, without), 9);
  EXPECT_DOUBLE_EQ(pipeline_s({}, Copies::ahead, 4, without), 15);
  const PartitionTimes copying{.send = 2, .compute = 3, .back = 1, .copy = 5, .waited_copy = 1};
  // 2; max(2, 3, 4); twice max(3, 4, 5); max(1, 4, 5); max(1, 1)
  EXPECT_DOUBLE_EQ(pipeline_s({}, Copies::after, 4, copying), 2 + 4 + 10 + 5 + 1);
  // max(2, 5); max(2, 3, 5); twice 5; max(1, 4); 1
  EXPECT_DOUBLE_EQ(pipeline_s({}, Copies::ahead, 4, copying), 5 + 5 + 10 + 4 + 1);
  EXPECT_THROW(pipeline_s({}, Copies::ahead, 0, copying), std::invalid_argument);
}

struct ModelledIteration : ::testing::Test, test::EvenSituation {};

TEST_F(ModelledIteration, AgreesWithSimulationWhateverIsSlow) {
  std::mt19937 random(3);
  const auto rate = [&](double base) {
    return base * std::pow(10.0, static_cast<double>(random() % 1000) / 1000);
  };
  // Costs of which now this, now that is most. A phase of the model ends for all streams together,
  // which simulation does not wait for.
  double sum = 0;
  int count = 0;
  for (int draw = 0; draw < 20; ++draw) {
    costs.fits["gemm"].beta_s_per_unit = rate(3e-11);
    costs.fits["memory"].beta_s_per_unit = 1e-11;
    for (const char* copy : {"offload_rows", "fetch_rows"}) {
      costs.fits[copy].beta_s_per_unit = rate(3e-10);
    }
    cluster.inter_node = {1 / rate(1e-9), 1e-6};
    for (const Strategy& strategy : kStrategies) {
      for (const int n : {1, 2, 4, 8}) {
        const auto schedule = reuse_schedule(program, "test", n, strategy);
        ASSERT_TRUE(schedule.has_value());
        const double modelled = modelled_iteration_s(situation, *schedule);
        const double simulated = simulated_s(situation, *schedule);
        EXPECT_NEAR(modelled / simulated, 1, 0.2) << strategy.name << " in " << n;
        sum += std::abs(modelled / simulated - 1);
        ++count;
      }
    }
  }
  EXPECT_LT(sum / count, 0.05);
}

}  // namespace
}  // namespace tuner::mpmoe::performance_model_test
