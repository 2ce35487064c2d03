#include "tuner/scenario/given.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner::given_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct GivenTest : ::testing::Test {
  moe::Model model = [] {
    moe::Model m;
    m.blocks = 2;
    return m;
  }();
  moe::Groups groups = moe::make_groups(2, 2, {0, 1});
  moe::Program program = moe::build_iteration(model, groups, 0);
  moe::Routing routing = make_routing("uniform", program, groups, 1);
  CostModel costs = test::plain_costs();
  Cluster cluster = test::small_cluster();
  Situation situation{program, groups, routing, costs, cluster};
  std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / ("bf16_" + std::to_string(getpid()) + ".json");

  void TearDown() override { std::filesystem::remove(file); }
  Given given(const std::string& decision) {
    std::ofstream(file) << R"({"decisions": [{"layer": 1, "phase": "forward", )" << decision
                        << "}]}";
    return load_given(file.string(), program);
  }
};

const char* const kCompressed = R"("decision": "compress_exchange", "format": "bf16")";

TEST_F(GivenTest, CandidatesHaveTheGivenDecisionsAndTheirName) {
  const Given bf16 = given(kCompressed);
  EXPECT_EQ(bf16.name, file.stem().string());
  const auto tried =
      candidates_of(planner_named("tutel"), situation, {.asked = {{"degree", 2}}}, bf16);
  EXPECT_THAT(tried.refused, SizeIs(0));
  ASSERT_THAT(tried.candidates, SizeIs(1));
  const Candidate& candidate = tried.candidates.front();
  EXPECT_EQ(candidate.planner, "tutel");
  EXPECT_EQ(candidate.parameters_json,
            R"({"given": ")" + bf16.name + R"(", "forward_chunks": 2, "backward_chunks": 2})");
  EXPECT_EQ(moe::changes_results(candidate.schedule), "compress_exchange");
  EXPECT_THAT(moe::decisions_of<moe::PipelineSplit>(candidate.schedule), SizeIs(2));
}

TEST_F(GivenTest, WhatSequentialAddsNothingToIsPlannedByNobody) {
  const auto tried = candidates_of(planner_named("sequential"), situation, {}, given(kCompressed));
  ASSERT_THAT(tried.candidates, SizeIs(1));
  EXPECT_EQ(tried.candidates.front().planner, "given");
  EXPECT_EQ(tried.candidates.front().schedule.planner, "given");
  EXPECT_THAT(tried.candidates.front().schedule.decisions, SizeIs(1));
}

TEST_F(GivenTest, WhatContradictsAPlannerIsLeftOutWithTheReason) {
  const auto tried = candidates_of(planner_named("tutel"), situation, {.most_chunks = 3},
                                   given(R"("decision": "pipeline_split", "chunks": 4)"));
  EXPECT_THAT(tried.candidates, SizeIs(1)) << "with one chunk";
  EXPECT_THAT(tried.refused, ElementsAre(HasSubstr(file.string()), HasSubstr(file.string())));
  // One that fails while it plans.
  const auto none = candidates_of(planner_named("pipemoe"), situation, {.most_chunks = 3},
                                  given(R"("decision": "pipeline_split", "chunks": 4)"));
  EXPECT_THAT(none.candidates, SizeIs(0));
  EXPECT_THAT(none.refused, ElementsAre(HasSubstr(file.string())));
}

TEST_F(GivenTest, AFileThatDoesNotApplyIsRefused) {
  EXPECT_THROW(load_given((file.parent_path() / "nowhere.json").string(), program),
               moe::InputError);
  model.blocks = 1;  // whose only layer is dense
  program = moe::build_iteration(model, groups, 0);
  EXPECT_THROW(given(kCompressed), moe::Refusal);
}

}  // namespace
}  // namespace tuner::given_test
