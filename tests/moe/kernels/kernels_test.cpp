// The kernels on the processor: float against double, any number of threads, exact small values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "moe/kernels/math.h"
#include "tests/moe/kernels/kernel_cases.h"
#include "tests/moe/kernels/stored_attention.h"

namespace moe::test::kernels_kernels_test {
namespace {

TEST(KernelExponential, IsWithinTwoUlpOfExp) {
  for (float x = -86.9f; x < 88.7f; x += 0.00137f) {
    const double exact = std::exp(static_cast<double>(x));
    const double ulp =
        std::nextafter(static_cast<float>(exact), INFINITY) - static_cast<float>(exact);
    ASSERT_LE(std::abs(exponential(x) - exact), 2 * ulp) << "at " << x;
  }
}

TEST(KernelExponential, KeepsTheEndsOfTheRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-100.0f), 0.0f);
  EXPECT_EQ(exponential(-infinity), 0.0f);
  EXPECT_EQ(exponential(100.0f), infinity);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

void expect_float_like_double(const std::vector<KernelCase>& cases) {
  const auto backend = make_cpu_backend(1);
  for (const KernelCase& kernel : cases) {
    const auto expected = run_case(*backend, kernel, DType::f64);
    const auto actual = run_case(*backend, kernel, DType::f32);
    for (std::size_t i = 0; i < results_of(kernel); ++i) {
      EXPECT_LT(relative_difference(actual[i].values, expected[i].values), 2e-6)
          << kernel.name << ", output " << i;
    }
  }
}

TEST(Kernels, InFloatAgreeWithDouble) { expect_float_like_double(kernel_cases()); }

TEST(Kernels, OfLargeShapesInFloatAgreeWithDouble) {
  expect_float_like_double(large_kernel_cases());
  expect_float_like_double(wide_kernel_cases());
}

void expect_bf16_like_double(const std::vector<KernelCase>& cases) {
  const auto backend = make_cpu_backend(1);
  for (const KernelCase& kernel : cases) {
    EXPECT_THAT(deviations_in_bf16(*backend, kernel), ::testing::IsEmpty()) << kernel.name;
  }
}

TEST(Kernels, InBf16AgreeWithDouble) { expect_bf16_like_double(kernel_cases()); }

TEST(Kernels, OfLargeShapesInBf16AgreeWithDouble) {
  expect_bf16_like_double(large_kernel_cases());
  expect_bf16_like_double(wide_kernel_cases());
}

template <std::size_t... kind>
std::vector<Op> one_of_every_kind(std::index_sequence<kind...>) {
  return {Op{std::variant_alternative_t<kind, AnyOpKind>{}, {}, {}, ""}...};
}

TEST(KernelTable, HasACaseOfEveryOpThatAKernelExecutes) {
  std::set<std::size_t> covered;
  for (const KernelCase& kernel : kernel_cases()) covered.insert(kernel.kind.index());
  for (const Op& op :
       one_of_every_kind(std::make_index_sequence<std::variant_size_v<AnyOpKind>>())) {
    EXPECT_EQ(covered.contains(op.kind.index()), facts_of(op).executor == Executor::kernel)
        << kind_name(op);
  }
}

void expect_same_bits_on_three_threads(const KernelCase& kernel, DType dtype) {
  const auto one = make_cpu_backend(1);
  const auto three = make_cpu_backend(3, Waiting::awake);  // which takes all of them at first
  const KernelCase in_dtype = dtype == DType::bf16 ? with_remainder(kernel) : kernel;
  const auto expected = run_case(*one, in_dtype, dtype);
  const auto actual = run_case(*three, in_dtype, dtype);
  for (std::size_t i = 0; i < results_of(kernel); ++i) {
    EXPECT_EQ(actual[i].values, expected[i].values)
        << kernel.name << " in " << name_of(dtype) << ", output " << i;
  }
}

TEST(Kernels, GiveTheSameBitsOnAnyNumberOfThreads) {
  std::vector<KernelCase> cases = kernel_cases();
  cases.push_back(
      {"large layer_norm weight gradient",
       LayerNormWeightGradient{},
       {random_tensor(60, 3000, 1), random_tensor(60, 3000, 2), random_tensor(60, 2, 3)},
       {blank(1, 3000), blank(1, 3000)}});
  cases.push_back({"large embed gradient",
                   EmbedTokensGradient{{100}},
                   {random_integers(600, 1, 1, 20), random_tensor(600, 70, 2)},
                   {blank(20, 70), blank(100, 70)}});
  for (const KernelCase& kernel : cases) expect_same_bits_on_three_threads(kernel, DType::f64);
  for (const KernelCase& kernel : large_kernel_cases()) cases.push_back(kernel);
  for (const KernelCase& kernel : cases) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      expect_same_bits_on_three_threads(kernel, dtype);
    }
  }
}

/// Rows do not depend on their neighbours: in double precision chunks give the same bits as the
/// whole. In single precision the library chooses its loops by the number of rows, so that chunks
/// of few rows may round differently, and any chunks on processors without AVX-512.
TEST(KernelExpertLinear, GivesTheSameInChunks) {
  const auto backend = make_cpu_backend(1);
  const std::int64_t rows = 301, inputs = 140, outputs = 96;
  for (const bool gradient : {false, true}) {
    KernelCase experts{"expert_linear",
                       ExpertLinear{1},
                       {random_tensor(rows, inputs, 1), random_tensor(inputs, outputs, 2),
                        random_tensor(1, outputs, 3)},
                       {blank(rows, outputs)}};
    if (gradient) {
      experts.kind = ExpertLinearInputGradient{1};
      experts.reads = {random_tensor(rows, outputs, 4), random_tensor(inputs, outputs, 2)};
      experts.writes = {blank(rows, inputs)};
    }
    experts.steps = {{.ranges = {{0, rows}}}};
    const auto whole = run_case(*backend, experts, DType::f64)[0].values;
    const auto rounded = run_case(*backend, experts, DType::f32)[0].values;
    for (const int chunks : {2, 3, 5, 7}) {
      experts.steps.clear();
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t begin = slice_begin(rows, {chunk, chunks});
        experts.steps.push_back({.chunk = {chunk, chunks},
                                 .ranges = {{begin, slice_end(rows, {chunk, chunks}) - begin}}});
      }
      EXPECT_EQ(run_case(*backend, experts, DType::f64)[0].values, whole) << chunks << " chunks";
      EXPECT_THAT(run_case(*backend, experts, DType::f32)[0].values,
                  ::testing::Pointwise(::testing::DoubleNear(2e-5), rounded))
          << chunks << " chunks";
    }
  }
}

TEST(KernelEmbed, AddsToTheGradientThatATiedHeadHasLeft) {
  const auto backend = make_cpu_backend(1);
  const HostTensor tokens{3, 1, {1, 0, 1}, true}, dx{3, 2, {1, 2, 3, 4, 5, 6}},
      held{2, 2, {10, 20, 30, 40}};
  const auto table = run_case(
      *backend, {"embed", EmbedTokensGradient{{3}}, {tokens, dx, held}, {held}}, DType::f64)[0];
  EXPECT_EQ(table.values, (std::vector<double>{13, 24, 36, 48}));
}

TEST(KernelRotary, TurnsEveryHeadOfQueriesAndKeysByItsPositionAndLeavesValues) {
  const auto backend = make_cpu_backend(1);
  // Two tokens of one head of width 4; f = 1 and 1/10.
  const HostTensor qkv{2, 12, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,  //
                               1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const auto turned =
      run_case(*backend, {"rotary", Rotary{1, 2, 1, 100}, {qkv}, {qkv}}, DType::f64)[0].values;
  for (int c = 0; c < 12; ++c) EXPECT_EQ(turned[c], qkv.values[c]) << "position 0";
  const double c0 = std::cos(1.0), s0 = std::sin(1.0), c1 = std::cos(0.1), s1 = std::sin(0.1);
  const std::vector<double> expected{1 * c0 - 3 * s0,
                                     2 * c1 - 4 * s1,
                                     1 * s0 + 3 * c0,
                                     2 * s1 + 4 * c1,
                                     5 * c0 - 7 * s0,
                                     6 * c1 - 8 * s1,
                                     5 * s0 + 7 * c0,
                                     6 * s1 + 8 * c1,
                                     9,
                                     10,
                                     11,
                                     12};
  for (int c = 0; c < 12; ++c) EXPECT_NEAR(turned[12 + c], expected[c], 1e-14) << c;
}

/// Sequences are turned in groups, of which the last may be smaller.
TEST(KernelRotary, TurnsEverySequenceAsIfItWereAlone) {
  const auto backend = make_cpu_backend(1);
  const int sequences = 9, length = 5, columns = 12;
  const HostTensor all = random_tensor(sequences * length, columns, 1);
  const Rotary rotary{1, length, 1, 100};
  const auto turned =
      run_case(*backend, {"rotary", rotary, {all}, {sized_like(all)}}, DType::f32)[0].values;
  const std::int64_t size = length * columns;
  for (int sequence = 0; sequence < sequences; ++sequence) {
    const auto begin = all.values.begin() + sequence * size;
    const HostTensor one{length, columns, {begin, begin + size}};
    const std::vector<double> found(turned.begin() + sequence * size,
                                    turned.begin() + (sequence + 1) * size);
    EXPECT_EQ(run_case(*backend, {"rotary", rotary, {one}, {one}}, DType::f32)[0].values, found)
        << sequence;
  }
}

/// The best expert is of the third group, whose two best are less than those of the first; the
/// second and the third are as good, and the second comes first.
TEST(KernelKeepBestGroups, AddsUpTheBestRankingsOfAGroup) {
  const auto backend = make_cpu_backend(1);
  const HostTensor ranking{1, 6, {3, 4, 2, 3, 5, 0}};
  const auto run = [&](int best, int counted) {
    return run_case(
        *backend,
        {"groups", KeepBestGroups{3, best, counted}, {ranking}, {blank(1, 6), blank(1, 3)}},
        DType::f64);
  };
  const double none = kLeftOutRanking;
  EXPECT_EQ(run(1, 2)[0].values, (std::vector<double>{3, 4, none, none, none, none}));
  EXPECT_EQ(run(2, 2)[0].values, (std::vector<double>{3, 4, 2, 3, none, none}));
  EXPECT_EQ(run(2, 2)[1].values, (std::vector<double>{7, 5, 5}));
  EXPECT_EQ(run(1, 1)[0].values, (std::vector<double>{none, none, none, none, 5, 0}));
}

/// One round by hand, and after many every expert has an equal share of its group and every token
/// one of its own.
TEST(KernelBalanceRanking, BalancesTokensAndExpertsOfAGroup) {
  const auto backend = make_cpu_backend(1);
  const auto run = [&](const HostTensor& logits, int groups, int rounds) {
    return run_case(*backend,
                    {"balance",
                     BalanceRanking{groups, rounds},
                     {logits},
                     {blank(logits.rows, logits.columns), blank(logits.rows, 1),
                      blank(groups, logits.columns)}},
                    DType::f64);
  };
  const double two = std::log(2.0), three = std::log(3.0);
  const HostTensor logits{2, 2, {0, three, two, two}};  // e^logits = 1 3, 2 2
  const auto once = run(logits, 1, 1);
  // a = 1 / (2 * 4), 1 / (2 * 4); b = 1 / (2 * (3 / 8)), 1 / (2 * (5 / 8)) = 4/3, 4/5
  const std::vector<double> shifts{std::log(4.0 / 3), std::log(4.0 / 5)};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(once[0].values[i], logits.values[i] + shifts[i % 2], 1e-7);
  }
  EXPECT_EQ(run(logits, 1, 0)[0].values, logits.values);

  const HostTensor random = random_tensor(24, 4, 7, 3);
  const auto many = run(random, 2, 200);
  for (int group = 0; group < 2; ++group) {
    for (int e = 0; e < 4; ++e) {
      double share = 0;
      for (int t = 12 * group; t < 12 * (group + 1); ++t) {
        const double* row = random.values.data() + 4 * t;
        const double largest = *std::max_element(row, row + 4);
        const auto at = static_cast<std::size_t>(t);
        share += many[1].values[at] * std::exp(row[e] - largest) *
                 many[2].values[static_cast<std::size_t>(4 * group + e)];
      }
      EXPECT_NEAR(share, 0.25, 1e-7);
    }
  }
}

TEST(KernelAttention, OfGroupedQueriesIsThatOfRepeatedKeysAndValues) {
  const auto backend = make_cpu_backend(1);
  const int length = 70, heads = 6, key_value_heads = 2, width = 4;
  const HostTensor qkv = random_tensor(length, (heads + 2 * key_value_heads) * width, 1, 2);
  HostTensor repeated{length, 3 * heads * width};
  for (int token = 0; token < length; ++token) {
    const double* row = qkv.values.data() + token * qkv.columns;
    repeated.values.insert(repeated.values.end(), row, row + heads * width);
    for (const int group : {0, 1}) {
      for (int head = 0; head < heads; ++head) {
        const double* from =
            row + (heads + group * key_value_heads + head * key_value_heads / heads) * width;
        repeated.values.insert(repeated.values.end(), from, from + width);
      }
    }
  }
  const auto attended = [&](int of_keys, const HostTensor& input) {
    return run_case(*backend, attention_case({heads, length, of_keys}, input), DType::f64);
  };
  const auto grouped = attended(key_value_heads, qkv), full = attended(heads, repeated);
  EXPECT_LT(relative_difference(grouped[0].values, full[0].values), 1e-14);
  EXPECT_LT(relative_difference(grouped[1].values, full[1].values), 1e-14);
}

/// Lengths at the edges of tiles: one key more or less than a tile, and several tiles.
TEST(KernelAttention, IsThatWhichStoresItsProbabilities) {
  const auto backend = make_cpu_backend(1);
  const int heads = 4, key_value_heads = 2, head_width = 6, sequences = 2;
  for (const int length : {1, 63, 65, 511, 512, 513, 1088}) {
    const int tokens = sequences * length, columns = (heads + 2 * key_value_heads) * head_width;
    const KernelCase forward =
        attention_case({heads, length, key_value_heads}, random_tensor(tokens, columns, 1, 2));
    const HostTensor dy = random_tensor(tokens, heads * head_width, 2);
    const auto y = run_case(*backend, forward, DType::f64);
    const auto d_qkv = run_case(*backend, attention_gradient_case(forward, dy, y), DType::f64);

    StoredAttention<double> stored(sequences, length, heads, key_value_heads, head_width);
    std::vector<double> expected_y(y[0].values.size()), expected(d_qkv[0].values.size());
    stored.forward(forward.reads[0].values.data(), expected_y.data());
    stored.backward(dy.values.data(), forward.reads[0].values.data(), expected.data());
    EXPECT_LT(relative_difference(y[0].values, expected_y), 1e-14) << length;
    EXPECT_LT(relative_difference(d_qkv[0].values, expected), 1e-13) << length;
  }
}

TEST(KernelAttention, OfSeveralTilesHasTheGradientOfCentralDifferences) {
  const auto backend = make_cpu_backend(1);
  const int length = 1100, head_width = 2;
  KernelCase forward = attention_case({1, length, 1}, random_tensor(length, 3 * head_width, 1, 2));
  const HostTensor dy = random_tensor(length, head_width, 2);
  const auto gradient = run_case(
      *backend, attention_gradient_case(forward, dy, run_case(*backend, forward, DType::f64)),
      DType::f64)[0];
  constexpr double kStep = 1e-5;
  const auto loss = [&](std::size_t at, double step) {
    KernelCase moved = forward;
    moved.reads[0].values[at] += step;
    const auto y = run_case(*backend, moved, DType::f64)[0];
    double sum = 0;
    for (std::size_t i = 0; i < y.values.size(); ++i) sum += y.values[i] * dy.values[i];
    return sum;
  };
  std::vector<double> numerical, analytical;
  for (const std::size_t token : {0, 100, 511, 512, 1023, 1024, 1099}) {
    const std::size_t at = token * 3 * head_width + token % 6;  // q, k and v in turn
    numerical.push_back((loss(at, kStep) - loss(at, -kStep)) / (2 * kStep));
    analytical.push_back(gradient.values[at]);
  }
  EXPECT_LT(relative_difference(analytical, numerical), 1e-7);
}

/// Scores of 10,000 overflow without the largest subtracted, and tiles whose scores are far apart
/// must neither vanish nor hide the others.
TEST(KernelAttention, OfLargeScoresInSeveralTilesStaysFinite) {
  const auto backend = make_cpu_backend(1);
  const int length = 600;
  HostTensor qkv{length, 3};
  for (int token = 0; token < length; ++token) {
    // The last query gives key 3 of the first tile all of its weight.
    for (const double x : {100.0, token == 3 ? 100.0 : -100.0, double(token)}) {
      qkv.values.push_back(x);
    }
  }
  const KernelCase attention = attention_case({1, length, 1}, qkv);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto out = run_case(*backend, attention, dtype);
    EXPECT_EQ(out[0].values.back(), 3.0);
    EXPECT_EQ(out[1].values.back(), 10000.0);
    EXPECT_DOUBLE_EQ(out[0].values[2], 1.0);  // of keys 0, 1 and 2 alike
  }
}

TEST(KernelAdam, TakesAFirstStepOfTheLearningRate) {
  // Moments start at zero: corrected, the first step is learning_rate * sign(gradient).
  const auto backend = make_cpu_backend(1);
  const KernelCase adam{"adam",
                        AdamStep{.rate = {.peak = 0.01}},
                        {{1, 3, {2.0, -0.5, 4.0}}, {1, 1, {1}, true}},
                        {{1, 3, {1, 1, 1}}, {1, 3, {0, 0, 0}}, {1, 3, {0, 0, 0}}}};
  const auto parameter = run_case(*backend, adam, DType::f64)[0].values;
  EXPECT_NEAR(parameter[0], 0.99, 1e-9);
  EXPECT_NEAR(parameter[1], 1.01, 1e-9);
  EXPECT_NEAR(parameter[2], 0.99, 1e-9);
}

TEST(KernelSgd, KeepsMomentum) {
  const auto backend = make_cpu_backend(1);
  const KernelCase sgd{"sgd",
                       SgdStep{.rate = {.peak = 0.5}, .momentum = 0.5},
                       {{1, 1, {1.0}}, {1, 1, {1}, true}},
                       {{1, 1, {10.0}}, {1, 1, {4.0}}}};
  const auto out = run_case(*backend, sgd, DType::f64);
  EXPECT_DOUBLE_EQ(out[1].values[0], 3.0);
  EXPECT_DOUBLE_EQ(out[0].values[0], 8.5);
}

TEST(KernelAttention, RefusesAScratchThatIsTooSmall) {
  const auto backend = make_cpu_backend(1);
  KernelCase attention = attention_case({2, 20}, random_tensor(20, 24, 1));
  attention.writes[2] = blank(2, 100);
  EXPECT_THROW(run_case(*backend, attention, DType::f32), std::logic_error);
}

TEST(Kernels, RefuseWhatACommunicatorExecutes) {
  const auto backend = make_cpu_backend(1);
  const KernelCase all_reduce{"all_reduce", AllReduce{}, {blank(1, 4)}, {blank(1, 4)}};
  EXPECT_THROW(run_case(*backend, all_reduce, DType::f32), std::logic_error);
}

TEST(Kernels, RefuseTensorsOfAnotherType) {
  const auto backend = make_cpu_backend(1);
  const KernelCase add{"add", Add{}, {blank_integers(1, 4), blank(1, 4)}, {blank(1, 4)}};
  EXPECT_THROW(run_case(*backend, add, DType::f32), std::logic_error);
}

TEST(KernelExpertLinear, RefusesOtherThanOneRangePerExpert) {
  const auto backend = make_cpu_backend(1);
  const KernelCase experts{
      "expert_linear", ExpertLinear{2}, {blank(4, 3), blank(6, 5), blank(2, 5)}, {blank(4, 5)}};
  EXPECT_THROW(run_case(*backend, experts, DType::f32), std::logic_error);
}

}  // namespace
}  // namespace moe::test::kernels_kernels_test
