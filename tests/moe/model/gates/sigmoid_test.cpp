#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "moe/train/initialize.h"
#include "tests/moe/train/training_case.h"

namespace moe::sigmoid_test {
namespace {

/// The doubles that a view holds.
std::vector<double> values_of(const View& view) {
  const auto* data = static_cast<const double*>(view.data);
  return {data, data + view.rows * view.columns};
}

TEST(SigmoidGate, WeightsTheLargestLogitsByTheirSigmoid) {
  for (const int choices : {1, 2}) {
    Model model = test::small_model(DType::f64);
    model.gate = "sigmoid";
    model.choices = choices;
    const auto world = make_solo_communicator();
    const auto backend = make_cpu_backend(1);
    RunOptions options;
    options.memory_limit_bytes = 1 << 28;
    const Groups groups = make_groups(1, 1);
    Runner runner(forward_only(build_iteration(model, groups, 0)), groups, *backend, *world,
                  options);
    initialize_parameters(runner, 1);
    std::vector<double> logits, weights;
    runner.iterate_observed([&](const BoundOp& bound) {
      if (bound.op->name == "gate logits") logits = values_of(bound.writes[0]);
      if (bound.op->name == "gate") weights = values_of(bound.writes[1]);
    });
    const auto experts = static_cast<std::size_t>(model.experts);
    const auto k = static_cast<std::size_t>(choices);
    ASSERT_EQ(logits.size() / experts, weights.size() / k);
    for (std::size_t t = 0; t < weights.size() / k; ++t) {
      std::vector<double> row(logits.begin() + static_cast<std::ptrdiff_t>(t * experts),
                              logits.begin() + static_cast<std::ptrdiff_t>((t + 1) * experts));
      std::sort(row.rbegin(), row.rend());
      double total = 0;
      for (std::size_t i = 0; i < k; ++i) total += 1 / (1 + std::exp(-row[i]));
      for (std::size_t i = 0; i < k; ++i) {
        EXPECT_NEAR(weights[t * k + i], 1 / (1 + std::exp(-row[i])) / (k > 1 ? total : 1), 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace moe::sigmoid_test
