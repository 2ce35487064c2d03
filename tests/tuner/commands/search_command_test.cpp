#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/db/temporary_directory.h"
#include "tests/tuner/commands/moe_tune.h"

namespace tuner::search_command_test {
namespace {

using test::moe_tune;
using ::testing::HasSubstr;

const std::vector<std::string> kOn{"--model", "micro", "--cluster", "box"};

moe::ChildResult search(std::vector<std::string> more) {
  std::vector<std::string> arguments{"search"};
  arguments.insert(arguments.end(), kOn.begin(), kOn.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return moe_tune(arguments);
}

TEST(SearchCommand, PrintsTheFastestSetupsAndWritesTheBestSchedule) {
  const db::TemporaryDirectory directory;
  const std::string file = directory.file("best.json");
  const auto found =
      search({"--planners", "tutel:2", "--top", "4", "--format", "json", "-o", file});
  ASSERT_EQ(found.code, 0) << found.errors;
  const auto rows = nlohmann::json::parse(found.output);
  ASSERT_EQ(rows.size(), 4u);
  double before_s = 0;
  std::set<std::string> layouts;
  for (const auto& row : rows) {
    EXPECT_GE(row.at("predicted_s").get<double>(), before_s);
    before_s = row.at("predicted_s");
    EXPECT_GE(before_s, row.at("lower_bound_s").get<double>() * (1 - 1e-9));
    layouts.insert(row.at("layout"));
    std::int64_t parts = 0;
    for (const char* part : {"parameter_bytes", "gradient_bytes", "optimizer_bytes",
                             "activation_bytes", "buffer_bytes"}) {
      parts += row.at(part).get<std::int64_t>();
    }
    EXPECT_EQ(parts, row.at("predicted_peak_bytes"));
  }
  EXPECT_GT(layouts.size(), 1u);
  EXPECT_THAT(found.errors, HasSubstr("cannot be faster"));
  // simulate predicts the same of the best.
  const auto& best = rows.front();
  std::vector<std::string> arguments{
      "simulate",        "--schedule", file,
      "--format",        "json",       "--layout",
      best.at("layout"), "--set",      "training.micro_batches=" + best.at("micro_batches").dump()};
  arguments.insert(arguments.end(), kOn.begin(), kOn.end());
  if (best.at("batch_per") == "tp_group") {
    arguments.insert(arguments.end(), {"--set", "training.batch_per=tp_group"});
  }
  const auto simulated = moe_tune(arguments);
  ASSERT_EQ(simulated.code, 0) << simulated.errors;
  const auto row = nlohmann::json::parse(simulated.output).at(0);
  EXPECT_DOUBLE_EQ(row.at("predicted_s"), best.at("predicted_s"));
  EXPECT_EQ(row.at("predicted_peak_bytes"), best.at("predicted_peak_bytes"));
}

TEST(SearchCommand, HasTheBestRowOfEachNumberOfRanksAndValueOfAKey) {
  const auto found = search({"--planners", "none", "--ranks", "2,4", "--set",
                             "training.precision=f32,f64", "--format", "json"});
  ASSERT_EQ(found.code, 0) << found.errors;
  const auto rows = nlohmann::json::parse(found.output);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows.at(0).at("ranks"), 2);
  EXPECT_DOUBLE_EQ(rows.at(0).at("scaling_share"), 1);
  EXPECT_EQ(rows.at(3).at("training.precision"), "f64");
}

TEST(SearchCommand, RefusesWhatIsNoSpace) {
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--layouts", "xp=2"},
                                                        {"--micro-batches", "0"},
                                                        {"--orders", "backwards"},
                                                        {"--ranks", "0"},
                                                        {"--planners", "nobody"},
                                                        {"--memory-limit", "1K"},
                                                        {"--layouts", "tp=3"}}) {
    const auto refused = search({option, value});
    EXPECT_EQ(refused.code, 2) << option << " " << value << refused.output;
    EXPECT_THAT(refused.errors, HasSubstr("moe-tune: ")) << option;
  }
}

TEST(SearchCommand, GivesCompareALayoutWhereNoneIsAskedFor) {
  std::vector<std::string> arguments{"compare", "--planners", "sequential,tutel", "--format",
                                     "json"};
  arguments.insert(arguments.end(), kOn.begin(), kOn.end());
  const auto compared = moe_tune(arguments);
  ASSERT_EQ(compared.code, 0) << compared.errors;
  EXPECT_THAT(compared.errors, HasSubstr("layouts the fastest by search"));
  const auto best =
      nlohmann::json::parse(search({"--planners", "none", "--orders", "sequential",
                                    "--micro-batches", "1", "--top", "1", "--format", "json"})
                                .output);
  EXPECT_LE(best.at(0).at("predicted_s").get<double>(),
            nlohmann::json::parse(compared.output).at(0).at("predicted_s").get<double>());
}

}  // namespace
}  // namespace tuner::search_command_test
