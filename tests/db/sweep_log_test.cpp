#include "db/sweep_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/db/refusal.h"

namespace db {
namespace {

using ::testing::HasSubstr;

const LineOfLog kAt{"log.txt", 3};

TEST(SweepLog, SizesAreTimesTheParts) {
  EXPECT_EQ(size_in_bytes("1024", 1, kAt), 1024);
  EXPECT_EQ(size_in_bytes("1024", 4, kAt), 4096);
  EXPECT_EQ(size_in_bytes("0", 4, kAt), 0);
  EXPECT_EQ(size_in_bytes("100000000000000000", 1, kAt), 100'000'000'000'000'000);
  for (const char* wrong : {"-1", "1.5", "8K", "", "nan", "200000000000000000"}) {
    EXPECT_THAT(refusal_of([&] { size_in_bytes(wrong, 1, kAt); }),
                HasSubstr("log.txt, line 3: size is \"" + std::string(wrong) + "\": expected a"));
  }
}

TEST(SweepLog, LinesAreReadWithoutTagsAndIndents) {
  EXPECT_EQ(untagged("[1,0]<stdout>:  8 1.0"), "8 1.0");
  EXPECT_EQ(untagged("\t 8 1.0"), "8 1.0");
  EXPECT_EQ(untagged("[8] a > b >: c"), "[8] a > b >: c");
}

TEST(SweepLog, RatesMayDifferByTheirRounding) {
  expect_rate(30.29, 30.0, "bandwidth", kAt);
  expect_rate(0.0, 0.01, "bandwidth", kAt);
  EXPECT_THAT(refusal_of([] { expect_rate(31.0, 30.0, "bandwidth", kAt); }),
              HasSubstr("line 3: bandwidth"));
}

}  // namespace
}  // namespace db
