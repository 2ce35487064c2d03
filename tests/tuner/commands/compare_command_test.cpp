#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/db/temporary_directory.h"
#include "tests/tuner/commands/moe_tune.h"

namespace tuner::compare_command_test {
namespace {

using test::moe_tune;
using test::with;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CompareCommand, PredictsEveryPlanner) {
  const auto compared =
      moe_tune(with({"compare"}, {"--planners", "sequential,tutel:2,pipemoe", "--format", "json"}));
  ASSERT_EQ(compared.code, 0) << compared.errors;
  const auto rows = nlohmann::json::parse(compared.output);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_DOUBLE_EQ(rows.at(0).at("predicted_speedup"), 1);
  EXPECT_LE(rows.at(2).at("predicted_s").get<double>(),
            rows.at(1).at("predicted_s").get<double>() * (1 + 1e-9));
}

TEST(CompareCommand, SaysWhyAPlannerDecidesNothing) {
  const auto compared = moe_tune(with({"compare"}, {"--planners", "sequential,zero_bubble,feplb"}));
  ASSERT_EQ(compared.code, 0) << compared.errors;
  EXPECT_THAT(compared.errors, HasSubstr("zero_bubble: decides nothing here: micro_batches = 1"));
  EXPECT_THAT(compared.errors, HasSubstr("feplb: all experts stay at home"));
}

TEST(CompareCommand, ReplaysIterationsUnderPlansOfThoseBefore) {
  const std::vector<std::string> planners{"--planners", "sequential,pro_prophet", "--format",
                                          "json"};
  const auto of = [&](std::vector<std::string> more) {
    more.insert(more.end(), planners.begin(), planners.end());
    return moe_tune(with({"compare"}, more));
  };
  const auto replayed = of({"--routing", "drift:1.2:0.1:5", "--plan-every", "2"});
  ASSERT_EQ(replayed.code, 0) << replayed.errors;
  const auto rows = nlohmann::json::parse(replayed.output);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows.at(0).at("predicted_speedup"), 1);
  EXPECT_GT(rows.at(1).at("predicted_s").get<double>(), 0);
  const auto once = of({"--routing", "zipf:1.2", "--plan-every", "2"});
  EXPECT_EQ(once.code, 2);
  EXPECT_THAT(once.errors, HasSubstr("--routing zipf:1.2 is one iteration"));
  EXPECT_EQ(of({"--routing", "drift:1:0:2", "--plan-every", "1", "--candidates"}).code, 2);
}

TEST(CompareCommand, ComparesEveryCandidateAndSaysTheirParameters) {
  const auto compared =
      moe_tune(with({"compare"}, {"--planners", "tutel:most_chunks=3,pmoe:degree=2", "--candidates",
                                  "--format", "json"}));
  ASSERT_EQ(compared.code, 0) << compared.errors;
  const auto rows = nlohmann::json::parse(compared.output);
  ASSERT_EQ(rows.size(), 4u);
  for (int degree = 1; degree <= 3; ++degree) {
    EXPECT_EQ(rows.at(static_cast<std::size_t>(degree) - 1).at("parameters"),
              (nlohmann::json{
                  {"most_chunks", 3}, {"forward_chunks", degree}, {"backward_chunks", degree}}));
  }
  EXPECT_EQ(rows.at(3).at("planner"), "pmoe");
  EXPECT_EQ(rows.at(3).at("parameters"),
            (nlohmann::json{{"forward_chunks", 2}, {"backward_chunks", 2}}));
}

TEST(CompareCommand, APlannerThatRefusesHasARowWithTheReason) {
  const auto compared = moe_tune(with(
      {"compare"}, {"--planners", "sequential,pro_prophet:left_out=4000", "--format", "json"}));
  ASSERT_EQ(compared.code, 0) << compared.errors;
  const auto rows = nlohmann::json::parse(compared.output);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows.at(0).at("refusal").is_null());
  EXPECT_TRUE(rows.at(1).at("predicted_s").is_null());
  EXPECT_THAT(rows.at(1).at("refusal").get<std::string>(),
              HasSubstr("pro_prophet: left_out=4000 of "));
  const auto none = moe_tune(with({"compare"}, {"--planners", "pro_prophet:left_out=4000"}));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("left_out=4000"));
}

TEST(CompareCommand, ASweepHasARowForEachCombinationAndPlanner) {
  const auto compared =
      moe_tune(with({"compare"}, {"--planners", "sequential,tutel:2", "--set", "moe.experts=4,3,8",
                                  "--set", "training.global_batch=4,8", "--format", "json"}));
  ASSERT_EQ(compared.code, 0) << compared.errors;
  const auto rows = nlohmann::json::parse(compared.output);
  ASSERT_EQ(rows.size(), 12u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows.at(i);
    EXPECT_EQ(row.at("moe.experts"), (std::array{4, 3, 8}.at(i / 4)));
    EXPECT_EQ(row.at("training.global_batch"), i % 4 < 2 ? 4 : 8);
    EXPECT_EQ(row.at("planner"), i % 2 == 0 ? "sequential" : "tutel");
    const bool refused = row.at("moe.experts") == 3;  // 4 ranks cannot share 3 experts
    EXPECT_EQ(row.at("predicted_s").is_null(), refused);
    EXPECT_EQ(row.at("refusal").is_null(), !refused);
    EXPECT_EQ(row.at("planning_s").is_null(), refused);
    if (!refused) {
      EXPECT_GE(row.at("planning_s").get<double>(), 0);
    }
  }
  EXPECT_GT(rows.at(2).at("predicted_s").get<double>(), rows.at(0).at("predicted_s").get<double>());
}

TEST(CompareCommand, ReplicasHaveColumnsOfTheirOwn) {
  const auto compared = moe_tune(with({"compare"}, {"--planners", "sequential,moonep", "--routing",
                                                    "zipf:1.2", "--format", "json"}));
  ASSERT_EQ(compared.code, 0) << compared.errors;
  const auto rows = nlohmann::json::parse(compared.output);
  ASSERT_EQ(rows.size(), 2u);
  for (const char* key : {"away_share", "expert_bytes", "rule_s", "exposed_experts_s"}) {
    EXPECT_TRUE(rows.at(0).at(key).is_null()) << key;
    EXPECT_GT(rows.at(1).at(key).get<double>(), 0) << key;
  }
}

TEST(CompareCommand, ASweptRowIsThatOfItsModelFile) {
  const db::TemporaryDirectory directory;
  const std::string model = directory.file("sixteen.toml");
  std::ofstream(model) << "base = \"micro\"\n[moe]\nexperts = 16\n[training]\nglobal_batch = 8\n";
  const auto row = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"compare",    "--cluster", "box",      "--ranks", "4",
                                       "--planners", "fsmoe",     "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = moe_tune(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    auto last = nlohmann::json::parse(result.output).back();
    for (const char* key : {"planning_s", "moe.experts", "training.global_batch"}) last.erase(key);
    return last;
  };
  EXPECT_EQ(row({"--model", model}), row({"--model", "micro", "--set", "moe.experts=4,16", "--set",
                                          "training.global_batch=8"}));
}

TEST(CompareCommand, ASweepOfWhichNothingIsLegalEndsWithTheFirstReason) {
  const auto none = moe_tune(with({"compare"}, {"--set", "moe.experts=0,3"}));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("--set moe.experts=0: moe.experts: expected an integer"));
  const auto unknown = moe_tune(with({"simulate"}, {"--planner", "tutel", "--set", "moe.exprt=4"}));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("--set moe.exprt=4: moe.exprt"));
}

/// Of 2 blocks, 8 sequences and rows that are much wider than experts.
std::string wide_config(const db::TemporaryDirectory& directory) {
  const std::string config = directory.file("config.json");
  std::ofstream(config) << R"({"model_type": "mixtral", "vocab_size": 64, "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "num_experts_per_tok": 2, "intermediate_size": 8, "num_local_experts": 4})";
  return config;
}

TEST(CompareCommand, ChoosesMicroBatchesOfAConfigThatHasNone) {
  const db::TemporaryDirectory directory;
  const auto compared = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare",
                                   "--model",
                                   wide_config(directory),
                                   "--cluster",
                                   "box",
                                   "--ranks",
                                   "2",
                                   "--planners",
                                   "sequential",
                                   "--set",
                                   "training.precision=f32",
                                   "--set",
                                   "cluster.memory=8M"};
    words.insert(words.end(), more.begin(), more.end());
    return moe_tune(words);
  };
  const auto chosen = compared({});
  ASSERT_EQ(chosen.code, 0) << chosen.errors;
  EXPECT_THAT(chosen.errors, HasSubstr(" --set training.micro_batches="));
  const auto asked = compared({"--set", "training.micro_batches=8"});
  EXPECT_THAT(asked.errors, HasSubstr("restored in backward: ")) << "or it would not fit";
  EXPECT_THAT(asked.errors, Not(HasSubstr(" --set training.micro_batches=")));
}

TEST(CompareCommand, SaysOnceWhatItAssumesOfAModelWithoutALayout) {
  const db::TemporaryDirectory directory;
  const std::string config = directory.file("config.json");
  std::ofstream(config) << R"({"model_type": "mixtral", "vocab_size": 64, "hidden_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
    "num_experts_per_tok": 2, "intermediate_size": 16, "num_local_experts": 4})";
  const auto compared = moe_tune({"compare", "--model", config, "--cluster", "box", "--ranks", "4",
                                  "--planners", "sequential", "--set", "training.precision=f32"});
  ASSERT_EQ(compared.code, 0) << compared.errors;
  EXPECT_THAT(compared.errors, HasSubstr("layouts the fastest by search"));
  const std::string said = "says nothing of a training";
  const auto first = compared.errors.find(said);
  ASSERT_NE(first, std::string::npos) << compared.errors;
  EXPECT_EQ(compared.errors.find(said, first + 1), std::string::npos) << compared.errors;
}

}  // namespace
}  // namespace tuner::compare_command_test
