// The optimizers, learning rates and clipping against torch.optim. tests/golden/
// make_optimizer_golden.py wrote the file and says how.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "moe/kernels/learning_rate.h"
#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::optimizer_golden_test {
namespace {

const nlohmann::json& golden_optimizers() {
  static const nlohmann::json loaded =
      nlohmann::json::parse(std::ifstream(MOELAB_SOURCE_DIR "/tests/golden/optimizers.json"));
  return loaded;
}

LearningRate golden_rate(const nlohmann::json& with) {
  LearningRate rate;
  rate.peak = golden_optimizers()["learning_rate"];
  rate.floor = with["least_learning_rate"];
  rate.warmup_steps = with["warmup_steps"];
  rate.decay_steps = golden_optimizers()["decay_steps"];
  const std::string name = with["learning_rate_schedule"];
  rate.schedule = name == "linear"     ? RateSchedule::linear
                  : name == "cosine"   ? RateSchedule::cosine
                  : name == "constant" ? RateSchedule::constant
                                       : RateSchedule::inverse_square_root;
  return rate;
}

OpKind golden_step_op(const nlohmann::json& with, bool is_bias) {
  const double decay = is_bias ? 0 : with["weight_decay"].get<double>();
  const LearningRate rate = golden_rate(with);
  if (with["optimizer"] == "sgd") {
    return SgdStep{rate, with["momentum"].get<double>(), decay, with["nesterov"].get<bool>()};
  }
  return AdamStep{rate, with["beta1"].get<double>(), with["beta2"].get<double>(),
                  with["epsilon"].get<double>(), decay};
}

std::vector<HostTensor> golden_op(OpKind kind, std::vector<HostTensor> reads,
                                  std::vector<HostTensor> writes, DType dtype) {
  const auto backend = make_cpu_backend(1);
  return run_case(*backend, {"", std::move(kind), std::move(reads), std::move(writes)}, dtype);
}

/// The norm of gradients, and the factor that clips them.
std::vector<HostTensor> clip(const std::vector<HostTensor>& gradients, double largest_norm,
                             DType dtype) {
  const auto sums = golden_op(SumSquares{}, gradients,
                              {blank(static_cast<std::int64_t>(gradients.size()), 1)}, dtype);
  const auto sum = golden_op(AddSquares{}, {sums[0]}, {blank(1, 1)}, dtype);
  return golden_op(ClipFactor{largest_norm}, {sum[0]}, {blank(1, 1), blank(1, 1)}, dtype);
}

void expect_steps(const nlohmann::json& with, DType dtype, double most) {
  const nlohmann::json& file = golden_optimizers();
  const std::int64_t columns = file["columns"];
  const auto tensor = [&](const nlohmann::json& values) {
    const auto numbers = values.get<std::vector<double>>();
    return HostTensor{static_cast<std::int64_t>(numbers.size()) / columns, columns, numbers};
  };
  const bool is_sgd = with["optimizer"] == "sgd";
  std::vector<std::vector<HostTensor>> trained;  // [matrix, bias]: the parameter and its states
  for (const nlohmann::json& start : file["start"]) {
    const HostTensor parameter = tensor(start);
    const HostTensor zeros{parameter.rows, columns, std::vector<double>(parameter.values.size())};
    trained.push_back(is_sgd ? std::vector{parameter, zeros}
                             : std::vector{parameter, zeros, zeros});
  }
  for (std::size_t s = 0; s < file["gradients"].size(); ++s) {
    const int step = static_cast<int>(s) + 1;
    EXPECT_NEAR(rate_at(golden_rate(with), step), with["rates"][s].get<double>(), 1e-15) << step;
    const std::vector<HostTensor> gradients{tensor(file["gradients"][s][0]),
                                            tensor(file["gradients"][s][1])};
    std::optional<HostTensor> factor;
    if (!with["clip_norm"].is_null()) {
      const auto clipped = clip(gradients, with["clip_norm"], dtype);
      EXPECT_NEAR(clipped[0].values[0], with["norms"][s].get<double>(), most * 10);
      factor = clipped[1];
    }
    for (std::size_t i = 0; i < trained.size(); ++i) {
      std::vector<HostTensor> reads{gradients[i], step_number(step)};
      reads.insert(reads.end(), trained[i].begin(), trained[i].end());
      if (factor) reads.push_back(*factor);
      trained[i] = golden_op(golden_step_op(with, i == 1), reads, trained[i], dtype);
      const auto expected = with["parameters"][s][i].get<std::vector<double>>();
      EXPECT_LT(relative_difference(trained[i][0].values, expected), most)
          << "step " << step << (i == 1 ? ", bias" : ", matrix");
    }
  }
}

TEST(GoldenOptimizers, UpdateAsPyTorchDoes) {
  ASSERT_GT(golden_optimizers()["cases"].size(), 8u);
  for (const nlohmann::json& with : golden_optimizers()["cases"]) {
    SCOPED_TRACE(with["optimizer"].get<std::string>() + ", " +
                 with["learning_rate_schedule"].get<std::string>());
    expect_steps(with, DType::f64, 1e-13);
    expect_steps(with, DType::f32, 1e-5);
  }
}

}  // namespace
}  // namespace moe::test::optimizer_golden_test
