// The optimizers over several steps, with schedules and clipping, against their equations written
// out as PyTorch's documentation has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "moe/kernels/learning_rate.h"
#include "tests/moe/kernels/kernel_cases.h"
#include "tests/moe/kernels/update_cases.h"

namespace moe::test::kernels_update_test {
namespace {

constexpr int kSteps = 12;

struct OptimizerCase {
  std::string name;
  LearningRate rate;
  std::optional<double> clip_norm{};
  double weight_decay = 0;
  // of SGD, where momentum is given
  std::optional<double> momentum{};
  bool nesterov = false;
  // of Adam
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

std::vector<OptimizerCase> optimizer_cases() {
  const LearningRate constant{.peak = 0.05};
  const LearningRate cosine{0.05, 0.005, 3, 10, RateSchedule::cosine};
  const LearningRate linear{0.05, 0.005, 3, 10, RateSchedule::linear};
  return {
      {.name = "Adam", .rate = constant},
      {.name = "AdamW", .rate = constant, .weight_decay = 0.1, .beta1 = 0.875, .beta2 = 0.95},
      {.name = "AdamW, cosine, clipped", .rate = cosine, .clip_norm = 1.5, .weight_decay = 0.1},
      {.name = "Adam with a large epsilon", .rate = linear, .epsilon = 0.5},
      {.name = "SGD", .rate = constant, .momentum = 0.9},
      {.name = "SGD without momentum", .rate = constant, .momentum = 0.0},
      {.name = "SGD, Nesterov, decay",
       .rate = constant,
       .weight_decay = 0.1,
       .momentum = 0.9,
       .nesterov = true},
      {.name = "SGD, linear, clipped", .rate = linear, .clip_norm = 1.5, .momentum = 0.9},
  };
}

/// A parameter with the state that PyTorch keeps of it.
struct Reference {
  std::vector<double> parameter, first, second;

  void sgd(const OptimizerCase& with, double decay, double rate, std::vector<double> gradient) {
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      const double g = gradient[i] + decay * parameter[i];
      first[i] = *with.momentum * first[i] + g;
      parameter[i] -= rate * (with.nesterov ? g + *with.momentum * first[i] : first[i]);
    }
  }
  void adam(const OptimizerCase& with, double decay, double rate, int step,
            std::vector<double> gradient) {
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      parameter[i] -= rate * decay * parameter[i];
      first[i] = with.beta1 * first[i] + (1 - with.beta1) * gradient[i];
      second[i] = with.beta2 * second[i] + (1 - with.beta2) * gradient[i] * gradient[i];
      const double mean = first[i] / (1 - std::pow(with.beta1, step));
      const double square = second[i] / (1 - std::pow(with.beta2, step));
      parameter[i] -= rate * mean / (std::sqrt(square) + with.epsilon);
    }
  }
};

/// The outputs of one op.
std::vector<HostTensor> out_of(OpKind kind, std::vector<HostTensor> reads,
                               std::vector<HostTensor> writes, DType dtype) {
  const auto backend = make_cpu_backend(1);
  return run_case(*backend, {"", std::move(kind), std::move(reads), std::move(writes)}, dtype);
}

/// A matrix, or a bias, trained by the ops and by the reference.
struct Trained {
  std::vector<HostTensor> tensors;  ///< the parameter and its states
  Reference reference;
  bool decays;

  Trained(std::int64_t rows, std::uint64_t seed, bool is_sgd) : decays(rows > 1) {
    const HostTensor start = random_tensor(rows, 5, seed);
    const HostTensor zeros{rows, 5, std::vector<double>(start.values.size())};
    tensors = {start, zeros};
    if (!is_sgd) tensors.push_back(zeros);
    reference = {start.values, zeros.values, zeros.values};
  }

  void step(const OptimizerCase& with, int step, const HostTensor& gradient,
            const std::optional<HostTensor>& factor, double expected_factor, DType dtype) {
    const double decay = decays ? with.weight_decay : 0;
    std::vector<HostTensor> reads{gradient, step_number(step)};
    reads.insert(reads.end(), tensors.begin(), tensors.end());
    if (factor) reads.push_back(*factor);
    std::vector<double> clipped = gradient.values;
    for (double& value : clipped) value *= expected_factor;
    const double rate = rate_at(with.rate, step);
    if (with.momentum) {
      tensors =
          out_of(SgdStep{with.rate, *with.momentum, decay, with.nesterov}, reads, tensors, dtype);
      reference.sgd(with, decay, rate, clipped);
    } else {
      tensors = out_of(AdamStep{with.rate, with.beta1, with.beta2, with.epsilon, decay}, reads,
                       tensors, dtype);
      reference.adam(with, decay, rate, step, clipped);
    }
  }
};

TEST(OptimizerSteps, ChangeNothingWhereTheNormIsAnOutlier) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const HostTensor squares{1, 1, {9}}, below{1, 1, {2.5}}, equal{1, 1, {3}};
    const auto factor_above = [&](const HostTensor& limit) {
      return out_of(ClipFactor{6}, {squares, limit}, {blank(1, 1), blank(1, 1)}, dtype);
    };
    EXPECT_EQ(factor_above(equal)[1].values[0], 1);
    const auto outlier = factor_above(below);
    EXPECT_EQ(outlier[0].values[0], 3);
    EXPECT_EQ(outlier[1].values[0], -1);

    const HostTensor gradient{1, 2, {4, -5}}, parameter{1, 2, {1.5, 2.5}}, state{1, 2, {0.5, 0.25}};
    const std::vector<HostTensor> adam{parameter, state, state}, sgd{parameter, state};
    const auto after = [&](const OpKind& kind, const std::vector<HostTensor>& tensors) {
      std::vector<HostTensor> reads{gradient, step_number(3)};
      reads.insert(reads.end(), tensors.begin(), tensors.end());
      reads.push_back(outlier[1]);
      return out_of(kind, reads, tensors, dtype);
    };
    const AdamStep adam_step{.weight_decay = 0.5};
    const SgdStep sgd_step{.weight_decay = 0.5, .nesterov = true};
    const auto after_adam = after(adam_step, adam), after_sgd = after(sgd_step, sgd);
    for (std::size_t i = 0; i < adam.size(); ++i) {
      EXPECT_EQ(after_adam[i].values, adam[i].values);
    }
    for (std::size_t i = 0; i < sgd.size(); ++i) EXPECT_EQ(after_sgd[i].values, sgd[i].values);
  }
}

TEST(OptimizerSteps, FollowTheirEquationsWithSchedulesAndClippingOverTwelveSteps) {
  for (const OptimizerCase& with : optimizer_cases()) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      SCOPED_TRACE(with.name);
      Trained matrix(3, 1, with.momentum.has_value()), bias(1, 2, with.momentum.has_value());
      int clipped = 0;
      for (int step = 1; step <= kSteps; ++step) {
        const auto seed = static_cast<std::uint64_t>(10 * step);
        const HostTensor of_matrix = random_tensor(3, 5, seed),
                         of_bias = random_tensor(1, 5, seed + 1);
        double squares = 0;
        for (const HostTensor* gradient : {&of_matrix, &of_bias}) {
          for (const double value : gradient->values) squares += value * value;
        }
        const double norm = std::sqrt(squares);
        const double expected = std::min(1.0, with.clip_norm.value_or(INFINITY) / (norm + 1e-6));
        std::optional<HostTensor> factor;
        if (with.clip_norm) {
          const auto sums = out_of(SumSquares{}, {of_matrix, of_bias}, {blank(2, 1)}, dtype);
          const auto sum = out_of(AddSquares{}, {sums[0]}, {blank(1, 1)}, dtype);
          const auto clip =
              out_of(ClipFactor{*with.clip_norm}, {sum[0]}, {blank(1, 1), blank(1, 1)}, dtype);
          EXPECT_NEAR(clip[0].values[0], norm, 1e-6 * norm);
          EXPECT_NEAR(clip[1].values[0], expected, 1e-6);
          clipped += expected < 1 ? 1 : 0;
          factor = clip[1];
        }
        matrix.step(with, step, of_matrix, factor, expected, dtype);
        bias.step(with, step, of_bias, factor, expected, dtype);
      }
      if (with.clip_norm) {
        EXPECT_GT(clipped, 0);
      }
      const double most = dtype == DType::f64 ? 1e-12 : 1e-5;
      for (const Trained* one : {&matrix, &bias}) {
        EXPECT_LT(relative_difference(one->tensors[0].values, one->reference.parameter), most);
      }
    }
  }
}

TEST(Updates, AreOneLaunchForUpTo512ParametersThatAreAlike) {
  for (const UpdateCase& update : update_cases()) {
    const int expected = update.sizes.size() > 512 ? 2 : 1;
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      EXPECT_EQ(launches_of(update, dtype), expected) << update.name;
    }
  }
}

TEST(SumSquares, OfFewerElementsThanThereAreBlocksForAreZeros) {
  HostTensor gradient{1, 2, {3, 4}};
  const auto sums = out_of(SumSquares{0.5}, {gradient}, {blank(3, 1)}, DType::f32);
  EXPECT_EQ(sums[0].values, (std::vector<double>{12.5, 0, 0}));
}

TEST(OptimizerSteps, ThatClipByOneAndDecayByNothingChangeNoBit) {
  const HostTensor gradient = random_tensor(17, 29, 1), parameter = random_tensor(17, 29, 2),
                   momentum = random_tensor(17, 29, 3), one{1, 1, {1}};
  HostTensor squares = random_tensor(17, 29, 4);
  for (double& value : squares.values) value *= value;
  const auto adam = [&](std::vector<HostTensor> reads) {
    return out_of(AdamStep{}, std::move(reads), {parameter, momentum, squares}, DType::f32);
  };
  const auto plain = adam({gradient, step_number(3), parameter, momentum, squares});
  const auto clipped = adam({gradient, step_number(3), parameter, momentum, squares, one});
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i].values, clipped[i].values);
}

}  // namespace
}  // namespace moe::test::kernels_update_test
