// The precision of rows that were packed and unpacked.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::pack_test {
namespace {

std::vector<double> there_and_back(WireFormat format, const HostTensor& x, DType real) {
  const auto backend = make_cpu_backend(1);
  const auto packed = run_case(
      *backend,
      {"pack", PackRows{format}, {x}, {blank_integers(x.rows, packed_columns(format, x.columns))}},
      real);
  return run_case(*backend, {"unpack", UnpackRows{format}, {packed[0]}, {blank(x.rows, x.columns)}},
                  real)[0]
      .values;
}

TEST(KernelPack, Bf16KeepsEightBitsOfEveryNumber) {
  for (const int width : {1, 2, 7, 64}) {
    const HostTensor x = random_tensor(9, width, 3, 5);
    for (const DType real : {DType::f32, DType::f64}) {
      const auto y = there_and_back(WireFormat::bf16, x, real);
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_LE(std::abs(y[i] - x.values[i]), std::abs(x.values[i]) / 256);
      }
    }
  }
}

TEST(KernelPack, Int8KeepsAHalfOfTheRowsLargestOver127) {
  for (const int width : {1, 3, 4, 65}) {
    const HostTensor x = random_tensor(9, width, 4, 5);
    for (const DType real : {DType::f32, DType::f64}) {
      const auto y = there_and_back(WireFormat::int8, x, real);
      for (std::size_t row = 0; row < 9; ++row) {
        const auto first = row * static_cast<std::size_t>(width);
        double largest = 0;
        for (int c = 0; c < width; ++c) {
          largest = std::max(largest, std::abs(x.values[first + static_cast<std::size_t>(c)]));
        }
        for (int c = 0; c < width; ++c) {
          const std::size_t i = first + static_cast<std::size_t>(c);
          EXPECT_LE(std::abs(y[i] - x.values[i]), largest / 254 * 1.00001);
        }
      }
    }
  }
}

TEST(KernelPack, Int8KeepsZerosAndTheEndsOfTheRow) {
  const HostTensor x{2, 5, {0, 0, 0, 0, 0, -127, 127, 64, -1, 0}};
  EXPECT_EQ(there_and_back(WireFormat::int8, x, DType::f32), x.values);
}

TEST(KernelPack, Int8OfRowsNearTheSmallestFloatKeepsSigns) {
  for (const double size : {1e-45, 1e-40, 3e-39, 3.6e-37, 1.4e-36, 1.6e-36, 1e-30}) {
    const HostTensor x{1, 4, {size, -size, size / 3, 0}};
    for (const DType real : {DType::f32, DType::f64}) {
      const auto y = there_and_back(WireFormat::int8, x, real);
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_GE(y[i] * x.values[i], 0) << size;
        EXPECT_LE(std::abs(y[i] - x.values[i]), std::max(size / 200, 1.5e-36)) << size;
      }
    }
  }
}

TEST(KernelPack, Int8RoundsHalvesAwayFromZero) {
  const HostTensor x{1, 5, {127, 0.5, -0.5, 2.5, -2.5}};
  EXPECT_EQ(there_and_back(WireFormat::int8, x, DType::f32),
            (std::vector<double>{127, 1, -1, 3, -3}));
}

TEST(KernelPack, WhatIsNoNumberArrivesAsNone) {
  for (const double bad : {NAN, INFINITY}) {
    const HostTensor x{2, 3, {1, bad, 2, 3, 4, 5}};
    for (const WireFormat format : {WireFormat::bf16, WireFormat::int8}) {
      const auto y = there_and_back(format, x, DType::f32);
      EXPECT_FALSE(std::isfinite(y[1]));
      EXPECT_TRUE(std::isfinite(y[4])) << "the next row";
    }
  }
}

}  // namespace
}  // namespace moe::test::pack_test
