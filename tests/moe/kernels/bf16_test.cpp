#include "moe/kernels/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

#include "moe/backend/cpu_gemm.h"
#include "moe/backend/thread_pool.h"
#include "tests/moe/kernels/run_case.h"

namespace moe::test::bf16_test {
namespace {

Bf16 of_bits(std::uint32_t bits) {
  Bf16 value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

TEST(Bf16, EveryNumberBecomesItselfAgain) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = of_bits(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Bf16(value)))) << bits;
    } else {
      EXPECT_EQ(Bf16(value).bits, bits);
    }
  }
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const float below = of_bits(bits), above = of_bits(bits + 1),
                middle = below + (above - below) / 2;
    EXPECT_EQ(Bf16(middle).bits, bits + (bits & 1));
    EXPECT_EQ(Bf16(std::nextafter(middle, below)).bits, bits);
    EXPECT_EQ(Bf16(std::nextafter(middle, above)).bits, bits + 1);
    EXPECT_EQ(Bf16(-middle).bits, 0x8000 | (bits + (bits & 1)));
  }
}

TEST(Bf16, KeepsInfinityAndNotANumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(Bf16(infinity)), infinity);
  EXPECT_EQ(static_cast<float>(Bf16(-infinity)), -infinity);
  EXPECT_EQ(static_cast<float>(Bf16(std::numeric_limits<float>::max())), infinity);
  // A NaN whose bits are all in the half that is cut off.
  EXPECT_TRUE(std::isnan(static_cast<float>(Bf16(std::bit_cast<float>(0x7f800001u)))));
}

/// What a parameter and its remainder make of a float.
float kept(float x) { return float_of(Bf16(x), Bf16Remainder(x)); }

TEST(Bf16Remainder, MakesEveryFloatAgainButTiesThatRoundTowardsZero) {
  std::int64_t ties = 0;
  const auto check = [&](std::uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    const float again = kept(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(again)) << bits;
    } else if ((bits & 0x1ffff) == 0x8000) {
      ++ties;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(again), bits - 1);
      ASSERT_EQ(Bf16(again).bits, Bf16(x).bits);
      ASSERT_EQ(kept(again), again);
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(again), bits);
    }
  };
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    // Around where the remainder changes its sign and where it is the largest, and in between.
    for (const std::uint32_t lower :
         {0u, 1u, 0x7ffeu, 0x7fffu, 0x8000u, 0x8001u, 0xfffeu, 0xffffu}) {
      check(upper << 16 | lower);
    }
    for (std::uint32_t lower = upper % 1021; lower < 0x10000; lower += 1021) {
      check(upper << 16 | lower);
    }
  }
  EXPECT_GE(ties, 0x7f80) << "of both signs, NaN aside";
}

/// Exact products: sums of small whole numbers.
void expect_exact_products(Bf16Way way) {
  for (const int m : {1, 5, 31, 32, 33, 63, 100, 1057}) {
    for (const auto& [n, k] : {std::pair{1, 1}, {17, 40}, {64, 96}}) {
      for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
          std::vector<Bf16> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
          for (int i = 0; i < m * k; ++i) a[i] = static_cast<float>(i % 5 - 2);
          for (int i = 0; i < k * n; ++i) b[i] = static_cast<float>(i % 7 - 3);
          const Bf16 bias[] = {0.5f};
          std::vector<float> wide(static_cast<std::size_t>(m * n), 1.0f);
          Gemm<Bf16, float> gemm{.m = m,
                                 .n = n,
                                 .k = k,
                                 .a = a.data(),
                                 .lda = transpose_a ? m : k,
                                 .transpose_a = transpose_a,
                                 .b = b.data(),
                                 .ldb = transpose_b ? k : n,
                                 .transpose_b = transpose_b,
                                 .c = wide.data(),
                                 .ldc = n,
                                 .accumulate = true};
          cpu_gemm(gemm, way);
          std::vector<Bf16> stored(wide.size());
          cpu_gemm(Gemm<Bf16>{.m = m,
                              .n = n,
                              .k = k,
                              .a = a.data(),
                              .lda = gemm.lda,
                              .transpose_a = transpose_a,
                              .b = b.data(),
                              .ldb = gemm.ldb,
                              .transpose_b = transpose_b,
                              .c = stored.data(),
                              .ldc = n,
                              .bias = n == 1 ? bias : nullptr},
                   way);
          for (int row = 0; row < m; ++row) {
            for (int column = 0; column < n; ++column) {
              float sum = 0;
              for (int i = 0; i < k; ++i) {
                sum += a[transpose_a ? i * m + row : row * k + i] *
                       b[transpose_b ? column * k + i : i * n + column];
              }
              const auto at = static_cast<std::size_t>(row * n + column);
              ASSERT_EQ(wide[at], 1 + sum) << m << ' ' << n << ' ' << k;
              ASSERT_EQ(stored[at].bits, Bf16(n == 1 ? sum + 0.5f : sum).bits)
                  << m << ' ' << n << ' ' << k;
            }
          }
        }
      }
    }
  }
}

TEST(CpuGemm, InBf16IsExactForWholeNumbersOfEveryShapeInEveryWay) {
  for (const Bf16Way way : bf16_ways()) expect_exact_products(way);
}

/// Rows of C that lie apart, on one thread and on two.
TEST(CpuGemm, InBf16HasTheSameProductsInEveryWay) {
  constexpr std::int64_t kRows = 300, kDepth = 500, kColumns = 600, kApart = 640;
  std::vector<Bf16> a(kRows * kDepth), b(kDepth * kColumns);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) / 8 - 0.75f;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) / 8 - 0.625f;
  std::vector<std::vector<Bf16>> products;
  ThreadPool pool(2, std::chrono::milliseconds(1));
  int shared = 0;  // loops
  for (const Bf16Way way : bf16_ways()) {
    for (const int threads : {1, 2}) {
      const auto share = [&](std::int64_t count, std::int64_t least, const PartOfLoop& part) {
        if (threads == 1 || count < 2 * least) return part(0, count);
        ++shared;
        pool.run(2, [&](int half) { part(half * (count / 2), half == 0 ? count / 2 : count); });
      };
      std::vector<Bf16>& c = products.emplace_back(kRows * kApart, 7.0f);
      cpu_gemm(Gemm<Bf16>{.m = kRows,
                          .n = kColumns,
                          .k = kDepth,
                          .a = a.data(),
                          .lda = kDepth,
                          .b = b.data(),
                          .ldb = kColumns,
                          .c = c.data(),
                          .ldc = kApart},
               way, share);
    }
  }
  EXPECT_GE(shared, 4);  // conversions of A, B and C, and a product
  for (const std::vector<Bf16>& other : products) {
    for (std::size_t i = 0; i < other.size(); ++i) {
      ASSERT_EQ(other[i].bits, products.front()[i].bits) << i;  // sums of 64ths are exact
    }
  }
}

TEST(CpuGemm, InBf16WithoutTermsIsTheBiasOrZeroOrWhatWasThere) {
  const Bf16 bias[] = {2.0f, 3.0f};
  Bf16 c[] = {7.0f, 8.0f};
  cpu_gemm(Gemm<Bf16>{.m = 1, .n = 2, .k = 0, .lda = 1, .ldb = 2, .c = c, .ldc = 2, .bias = bias});
  EXPECT_EQ(static_cast<float>(c[1]), 3.0f);
  cpu_gemm(Gemm<Bf16>{.m = 1, .n = 2, .k = 0, .lda = 1, .ldb = 2, .c = c, .ldc = 2});
  EXPECT_EQ(static_cast<float>(c[1]), 0.0f);
  float wide[] = {7.0f, 8.0f};
  cpu_gemm(Gemm<Bf16, float>{
      .m = 1, .n = 2, .k = 0, .lda = 1, .ldb = 2, .c = wide, .ldc = 2, .accumulate = true});
  EXPECT_EQ(wide[1], 8.0f);
}

}  // namespace
}  // namespace moe::test::bf16_test
