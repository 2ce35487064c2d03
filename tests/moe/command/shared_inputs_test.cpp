#include "moe/command/shared_inputs.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "moe/errors.h"
#include "moe/model/model_json.h"

namespace moe::shared_inputs_test {
namespace {

class SharedFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    arguments_.model = write("m.toml", "base = \"micro\"\n[training]\nlearning_rate = 0.001\n");
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string file = folder_ / name;
    std::ofstream(file) << text;
    return file;
  }
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "shared_inputs";
  TrainArguments arguments_;
};

const char* const kSplit =
    R"({"planner": "tutel", "decisions": [{"decision": "pipeline_split", "layer": 1, "phase": "forward", "chunks": 2}]})";

TEST_F(SharedFiles, ArriveAsTheyWereRead) {
  arguments_.schedules = {write("a.json", kSplit), write("b.json", R"({"decisions": []})")};
  arguments_.settings = {"moe.experts=8"};
  arguments_.seed = 77;
  const SharedInputs read = read_shared_inputs(arguments_, {});
  const SharedInputs arrived = shared_inputs_from_json(to_json(read));
  EXPECT_THAT(differing_keys(arrived.model, read.model), testing::IsEmpty());
  EXPECT_EQ(arrived.model.seed, 77);
  EXPECT_EQ(arrived.schedules, read.schedules);
  EXPECT_EQ(arrived.schedules[0].planner, "tutel");
  EXPECT_EQ(arrived.schedules[1].planner, "b.json") << "those that take turns have names";
  EXPECT_EQ(arrived.schedules_from, arguments_.schedules);
}

TEST_F(SharedFiles, AFileOfTheNameWithOtherContentIsAFact) {
  arguments_.schedules = {write("a.json", kSplit)};
  const SharedInputs read = read_shared_inputs(arguments_, {});
  for (const InputFact& fact : facts_of_own_files(arguments_, read)) {
    EXPECT_EQ(fact.value, fact.expected) << fact.key;
  }
  write("m.toml", "base = \"micro\"\n[training]\nlearning_rate = 0.5\n");
  write("a.json", R"({"decisions": []})");
  const auto facts = facts_of_own_files(arguments_, read);
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].key, "training.learning_rate");
  EXPECT_EQ(facts[0].value, "0.5");
  EXPECT_EQ(facts[0].expected, "0.001");
  EXPECT_EQ(facts[1].key, "--schedule " + arguments_.schedules[0]);
  EXPECT_NE(facts[1].value, facts[1].expected);
}

TEST_F(SharedFiles, AClusterToPlanForIsAFact) {
  arguments_.cluster = write("c.toml", "base = \"box\"\n");
  const SharedInputs read = shared_inputs_from_json(to_json(read_shared_inputs(arguments_, {})));
  EXPECT_THAT(facts_of_own_files(arguments_, read), testing::IsEmpty()) << "nobody plans for it";
  arguments_.plan_every = 1;
  const auto same = facts_of_own_files(arguments_, read);
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].key, "--cluster " + arguments_.cluster);
  EXPECT_EQ(same[0].value, same[0].expected);
  write("c.toml", "base = \"box\"\n[cluster]\nnodes = 4\n");
  const auto other = facts_of_own_files(arguments_, read);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_NE(other[0].value, other[0].expected);
}

TEST_F(SharedFiles, ARankNeedsNoneOfThem) {
  arguments_.schedules = {write("a.json", kSplit)};
  const SharedInputs read = read_shared_inputs(arguments_, {});
  std::filesystem::remove_all(folder_);
  EXPECT_THAT(facts_of_own_files(arguments_, read), testing::IsEmpty());
}

TEST_F(SharedFiles, PlannerIsAskedOnceForAll) {
  arguments_.planner = "tutel";
  int asked = 0;
  const TrainingPlanner planner{.first = [&](const auto&) {
    ++asked;
    return FirstPlan{schedule_from_json(kSplit), "a remark", "costs"};
  }};
  const SharedInputs read =
      shared_inputs_from_json(to_json(read_shared_inputs(arguments_, planner)));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(read.schedules, std::vector<Schedule>{schedule_from_json(kSplit)});
  EXPECT_EQ(read.remark, "a remark");
  EXPECT_EQ(read.costs, "costs");
}

}  // namespace
}  // namespace moe::shared_inputs_test
