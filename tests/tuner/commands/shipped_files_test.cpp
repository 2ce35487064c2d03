#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tuner/commands/moe_tune.h"

namespace tuner::shipped_files_test {
namespace {

using test::moe_tune;
using ::testing::HasSubstr;

TEST(ShippedFiles, AreListedWithTheirSizes) {
  const auto clusters = moe_tune({"clusters", "--format", "csv"});
  EXPECT_EQ(clusters.code, 0) << clusters.errors;
  EXPECT_THAT(clusters.output,
              HasSubstr("\nbox,cpu,4,1,1,,2147483648,93750000,5000000000,no,4,0,"));
  const auto models = moe_tune({"models", "--format", "csv"});
  EXPECT_EQ(models.code, 0) << models.errors;
  EXPECT_THAT(models.output, HasSubstr("\nmixtral-8x7b,32,4096,8,2,bf16,46702792704,12879925248,"));
}

TEST(ShippedFiles, AClusterWithoutBf16NamesTheListOfThoseWithIt) {
  const auto refused = moe_tune({"simulate", "--model", "mixtral-7b", "--set",
                                 "training.precision=bf16", "--set", "model.blocks=1", "--cluster",
                                 "aws-p4de", "--ranks", "8", "--planner", "sequential"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("or take a cluster that has it: moe-tune clusters"));
}

TEST(ShippedFiles, EveryClusterWithBf16PlansAModelInBf16) {
  const auto rows = nlohmann::json::parse(moe_tune({"clusters", "--format", "json"}).output);
  int planned = 0;
  for (const auto& row : rows) {
    if (row["bf16"] != "yes") continue;
    const std::string name = row["cluster"];
    const auto compared =
        moe_tune({"compare", "--model", "mixtral-7b", "--set", "training.precision=bf16", "--set",
                  "model.blocks=2", "--cluster", name, "--set", "cluster.nodes=64", "--ranks", "16",
                  "--layout", "dp=2,ep=8", "--planners", "sequential,tutel", "--format", "csv"});
    EXPECT_EQ(compared.code, 0) << name << ": " << compared.errors;
    EXPECT_THAT(compared.output, HasSubstr("tutel")) << name;
    ++planned;
  }
  EXPECT_GE(planned, 6);
}

}  // namespace
}  // namespace tuner::shipped_files_test
