#include "moe/input/similar.h"

#include <gtest/gtest.h>

#include <string>

namespace moe::similar_test {
namespace {

TEST(Similar, IsANameOfWhichFewLettersDiffer) {
  EXPECT_EQ(most_similar("expert_liner", {"linear", "expert_linear", "gelu"}), "expert_linear");
  EXPECT_EQ(most_similar("nonsense", {"linear", "expert_linear", "gelu"}), std::nullopt);
  EXPECT_EQ(most_similar("gelu", {}), std::nullopt);
  EXPECT_EQ(most_similar(std::string(80, 'a'), {"aaaa"}), std::nullopt);
  EXPECT_TRUE(looks_like("nodes", "nodse"));
  EXPECT_FALSE(looks_like("nodes", "latency"));
}

}  // namespace
}  // namespace moe::similar_test
