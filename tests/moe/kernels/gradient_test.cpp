// Every backward op against central differences of its forward op, in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::gradient_test {
namespace {

constexpr double kStep = 1e-5;

/// Made once: GoogleTest would copy their tensors several times at every start of the program.
const std::vector<GradientCase>& all_cases() {
  static const std::vector<GradientCase> cases = gradient_cases();
  return cases;
}

/// The parameter is the place of a case.
class KernelGradients : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);

  double loss(const GradientCase& pair) {
    const std::vector<double> y = run_case(*backend_, pair.forward, DType::f64)[pair.output].values;
    if (pair.dy < 0) return y.at(0);
    const std::vector<double>& dy = pair.gradient.reads[pair.dy].values;
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy.at(i);
    return sum;
  }
};

TEST_P(KernelGradients, AgreeWithCentralDifferences) {
  GradientCase pair = all_cases()[GetParam()];
  const auto gradients = run_case(*backend_, pair.gradient, DType::f64);
  for (std::size_t output = 0; output < pair.wrt.size(); ++output) {
    if (pair.wrt[output] < 0) continue;
    std::vector<double>& input = pair.forward.reads[pair.wrt[output]].values;
    // All elements of a small tensor, a random sample of a large one.
    std::vector<std::size_t> places(input.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::mt19937 random(1);
    std::shuffle(places.begin(), places.end(), random);
    places.resize(std::min<std::size_t>(places.size(), 200));

    std::vector<double> numerical, analytical;
    for (const std::size_t i : places) {
      const double value = input[i];
      input[i] = value + kStep;
      const double above = loss(pair);
      input[i] = value - kStep;
      const double below = loss(pair);
      input[i] = value;
      numerical.push_back((above - below) / (2 * kStep));
      analytical.push_back(gradients[output].values[i]);
    }
    EXPECT_LT(relative_difference(analytical, numerical), 1e-7) << "gradient " << output;
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, KernelGradients,
                         ::testing::Range(std::size_t{0}, all_cases().size()),
                         [](const auto& instance) {
                           std::string name = all_cases()[instance.param].gradient.name;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

/// The gradient of softmax, choice and load-balancing loss together, with shares of a larger batch.
TEST(KernelGradient, OfTheSoftmaxGateHoldsTheLoadBalancingLoss) {
  const auto backend = make_cpu_backend(1);
  const double auxiliary_weight = 0.3;
  for (const auto& [tokens, experts, choices, normalize, factor] :
       {std::tuple{12, 5, 1, false, 1.0},
        {12, 5, 2, true, 1.0},
        {1, 2, 1, false, 1.0},
        {5, 70, 2, true, 1.0},
        {4, 9, 3, true, 2.5},
        {4, 9, 3, false, 2.5}}) {
    const SelectExperts select{
        .experts = experts, .choices = choices, .normalize = normalize, .factor = factor};
    HostTensor logits = random_tensor(tokens, experts, 11, 2);
    const Gated gated = softmax_gated(select, logits);
    HostTensor demand = gated.demand;
    for (double& asked : demand.values) asked += 3;  // what other ranks asked for
    const std::int64_t global_tokens = 3 * tokens;
    const HostTensor d_weight = random_tensor(tokens, choices, 12);
    const KernelCase gradient{"softmax gate gradient",
                              SoftmaxGateGradient{experts, choices, auxiliary_weight, global_tokens,
                                                  select.normalize, select.factor},
                              {d_weight, gated.probabilities, gated.expert, gated.weight, demand},
                              {blank(tokens, experts)}};
    const auto analytical = run_case(*backend, gradient, DType::f64)[0].values;

    const auto loss = [&] {
      const Gated now = softmax_gated(select, logits);
      const KernelCase balance{"load_balancing_loss",
                               LoadBalancingLoss{experts, choices, global_tokens},
                               {now.probabilities, demand},
                               {blank(1, 1)}};
      double sum = auxiliary_weight * run_case(*backend, balance, DType::f64)[0].values[0];
      for (std::size_t i = 0; i < d_weight.values.size(); ++i) {
        sum += d_weight.values[i] * now.weight.values[i];
      }
      return sum;
    };
    std::vector<double> numerical;
    for (double& logit : logits.values) {
      const double value = logit;
      logit = value + kStep;
      const double above = loss();
      logit = value - kStep;
      numerical.push_back((above - loss()) / (2 * kStep));
      logit = value;
    }
    EXPECT_LT(relative_difference(analytical, numerical), 1e-7)
        << tokens << "x" << experts << ", k = " << choices;
  }
}

/// As micro-batches add theirs.
TEST(KernelGradient, OfCosineLogitsIsAddedToWhatThereIs) {
  const auto backend = make_cpu_backend(1);
  KernelCase cosine{"cosine_logits_weight_gradient",
                    CosineLogitsWeightGradient{0.3},
                    {random_tensor(6, 4, 1),
                     random_tensor(6, 4, 2),
                     random_tensor(6, 3, 3),
                     random_tensor(4, 3, 4),
                     {6, 1, {1, 2, 3, 4, 5, 6}},
                     {4, 1, {1, 2, 3, 4}}},
                    {blank(4, 3)}};
  for (const bool learned : {false, true}) {
    if (learned) {
      cosine.reads.push_back({1, 1, {0.5}});
      cosine.writes.push_back(blank(1, 1));
    }
    cosine.steps = {Step{}};
    const auto once = run_case(*backend, cosine, DType::f64);
    cosine.steps.push_back({.accumulate = true});
    const auto twice = run_case(*backend, cosine, DType::f64);
    for (std::size_t i = 0; i < once.size(); ++i) {
      for (std::size_t at = 0; at < once[i].values.size(); ++at) {
        EXPECT_EQ(twice[i].values[at], 2 * once[i].values[at]) << i;
      }
    }
  }
}

void expect_added_balance_gradient(bool normalize) {
  const auto backend = make_cpu_backend(1);
  const int tokens = 6, experts = 4;
  HostTensor scores = random_tensor(tokens, experts, 1);
  for (double& score : scores.values) score = 0.1 + std::abs(score);
  const HostTensor demand{1, experts, {4, 0, 2, 6}, true},
      before = random_tensor(tokens, experts, 2);
  KernelCase gradient{"load_balancing_loss_gradient",
                      LoadBalancingLossGradient{experts, 2, 0.7, 2 * tokens},
                      {demand, before},
                      {before}};
  if (normalize) gradient.reads.push_back(scores);
  const auto analytical = run_case(*backend, gradient, DType::f64)[0].values;
  std::vector<double> numerical;
  for (std::size_t i = 0; i < scores.values.size(); ++i) {
    const auto loss = [&] {
      return run_case(*backend,
                      {"load_balancing_loss",
                       LoadBalancingLoss{experts, 2, 2 * tokens, normalize},
                       {scores, demand},
                       {blank(1, 1)}},
                      DType::f64)[0]
          .values[0];
    };
    scores.values[i] += kStep;
    const double above = loss();
    scores.values[i] -= 2 * kStep;
    numerical.push_back(before.values[i] + 0.7 * (above - loss()) / (2 * kStep));
    scores.values[i] += kStep;
  }
  EXPECT_LT(relative_difference(analytical, numerical), 1e-7);
}

TEST(KernelGradient, OfTheLoadBalancingLossIsAdded) {
  expect_added_balance_gradient(false);
  expect_added_balance_gradient(true);
}

TEST(KernelLoadBalancingLoss, ThatNormalizesDoesNotFallWithAllScoresAlike) {
  const auto backend = make_cpu_backend(1);
  HostTensor scores = random_tensor(6, 4, 1);
  for (double& score : scores.values) score = 0.1 + std::abs(score);
  const HostTensor demand{1, 4, {4, 0, 2, 6}, true};
  const auto loss = [&] {
    const KernelCase balance{
        "load_balancing_loss", LoadBalancingLoss{4, 2, 6, true}, {scores, demand}, {blank(1, 1)}};
    return run_case(*backend, balance, DType::f64)[0].values[0];
  };
  const double before = loss();
  for (double& score : scores.values) score /= 128;
  EXPECT_DOUBLE_EQ(loss(), before);
}

/// f_e = 1/E and P_e = 1/E give E * E * 1/E^2.
TEST(KernelLoadBalancingLoss, IsOneInPerfectBalance) {
  const auto backend = make_cpu_backend(1);
  const KernelCase balance{"load_balancing_loss",
                           LoadBalancingLoss{4, 2, 8},
                           {{8, 4, std::vector<double>(32, 0.25)}, {1, 4, {4, 4, 4, 4}, true}},
                           {blank(1, 1)}};
  EXPECT_DOUBLE_EQ(run_case(*backend, balance, DType::f64)[0].values[0], 1.0);
}

}  // namespace
}  // namespace moe::test::gradient_test
