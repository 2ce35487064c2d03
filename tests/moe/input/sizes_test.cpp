#include "moe/input/sizes.h"

#include <gmock/gmock.h>

#include "moe/errors.h"

namespace moe::sizes_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Sizes, RangesGrowByFactorOrStepUpToTheLast) {
  EXPECT_THAT(parse_sizes("1K:8K:x2"), ElementsAre(1024, 2048, 4096, 8192));
  EXPECT_THAT(parse_sizes("1:100:x10"), ElementsAre(1, 10, 100));
  EXPECT_THAT(parse_sizes("1:99:x10"), ElementsAre(1, 10));
  EXPECT_THAT(parse_sizes("1M:3M:+1M"), ElementsAre(1 << 20, 2 << 20, 3 << 20));
  EXPECT_THAT(parse_sizes("4K"), ElementsAre(4096));
  EXPECT_THAT(parse_sizes("4K,1:4:x4,7"), ElementsAre(4096, 1, 4, 7));
  EXPECT_THAT(parse_sizes("5:5:x2"), ElementsAre(5));
}

TEST(Sizes, WhatIsWrongIsNamed) {
  for (const char* text :
       {"", "x", "12Q", "K", "1KK", "-1", "1.3", "1:2", "1:2:3", "1:2:x", "4:2:x2", "1:8:x1",
        "1:8:+0", "0:8:x2", "1,,2", "1e9", "0x10", "1:2:x2:4"}) {
    EXPECT_THROW(parse_sizes(text), Refusal) << text;
  }
  try {
    parse_sizes("4K,8:2:x2");
    FAIL();
  } catch (const Refusal& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"8:2:x2\""));
  }
  // What was meant is said.
  const std::vector<std::pair<std::string, std::string>> meant = {
      {"1M:64K", "as 64K:1M:x2"},   {"64K:1M", "does not say how sizes grow"},
      {"64K:1M", "as 64K:1M:x2"},   {"1M:64K:x4", "as 64K:1M:x4"},
      {"8:64:2", "as 8:64:x2"},     {"8::x2", "a part is empty"},
      {"8:64:x2:9", "as 64K:1M:x2"}};
  for (const auto& [text, part] : meant) {
    try {
      parse_sizes(text);
      ADD_FAILURE() << text;
    } catch (const Refusal& error) {
      EXPECT_THAT(error.what(), HasSubstr(part)) << text;
    }
  }
  EXPECT_THROW(parse_sizes("1:1G:+1"), Refusal);  // too many to be meant
}

TEST(Sizes, LastSizeNearTheLimitDoesNotOverflow) {
  EXPECT_THAT(parse_sizes("4000000000G:8000000000G:x2"),
              ElementsAre(4000000000ll << 30, 8000000000ll << 30));
}

}  // namespace
}  // namespace moe::sizes_test
