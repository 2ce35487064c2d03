#include "viewer/model/format.h"

#include <gtest/gtest.h>

namespace viewer::format_test {
namespace {

TEST(Format, DurationsTakeTheUnitThatFits) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(12e-9), "12.00 ns");
  EXPECT_EQ(duration_text(4.5e-6, 3), "4.50 \u00b5s");
  EXPECT_EQ(duration_text(1.2345e-3), "1.234 ms");
  EXPECT_EQ(duration_text(0.2051), "205.1 ms");
  EXPECT_EQ(duration_text(0.2051, 3), "205 ms");
  EXPECT_EQ(duration_text(1234.5), "1,234 s");
  EXPECT_EQ(duration_text(0.99993, 3), "1.00 s");
  EXPECT_EQ(duration_text(0.9994, 3), "999 ms");
  EXPECT_EQ(duration_text(0.99951, 3), "1.00 s");
}

TEST(Format, LongDurationsCountMinutesAndHours) {
  EXPECT_EQ(long_duration_text(12.34), "12.3 s");
  EXPECT_EQ(long_duration_text(250), "4 min 10 s");
  EXPECT_EQ(long_duration_text(7500), "2 h 5 min");
}

TEST(Format, BytesArePowersOf1024AndRatesPowersOf1000) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1 << 20), "1.00 MiB");
  EXPECT_EQ(bytes_text(1023), "1,023 B");
  EXPECT_EQ(bytes_text(1023.8 * 1024), "1.00 MiB");
  EXPECT_EQ(bytes_text(4.5 * (1LL << 40)), "4.50 TiB");
  EXPECT_EQ(bytes_text(25e9), "23.3 GiB") << "as moe-db prints it";
  EXPECT_EQ(bandwidth_text(2e9, 1), "2.00 GB/s");
  EXPECT_EQ(bandwidth_text(2e6, 0.1), "20.0 MB/s");
  EXPECT_EQ(bandwidth_text(25e3, 0.1), "250 kB/s");
  EXPECT_EQ(bandwidth_text(0, 1), "");
  EXPECT_EQ(flops_text(512), "512 FLOP");
  EXPECT_EQ(flops_text(1.342e8), "134 MFLOP");
  EXPECT_EQ(flop_rate_text(205e9, 1), "205 GFLOP/s");
  EXPECT_EQ(flop_rate_text(1, 0), "");
}

TEST(Format, ThousandsAreGrouped) {
  EXPECT_EQ(grouped(1234567.891, 1), "1,234,567.9");
  EXPECT_EQ(grouped(-1234, 0), "-1,234");
  EXPECT_EQ(grouped(-123, 0), "-123");
  EXPECT_EQ(grouped(-0.001, 1), "0.0");
}

}  // namespace
}  // namespace viewer::format_test
