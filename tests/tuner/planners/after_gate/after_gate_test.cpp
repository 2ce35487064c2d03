#include "tuner/planners/after_gate/after_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/tuner/planners/skewed_situation.h"

namespace tuner::after_gate_test {
namespace {

using test::SkewedSituation;
using ::testing::HasSubstr;

std::vector<Candidate> candidates(const SkewedSituation& skewed, const char* request) {
  const PlannerRequest asked = parse_planner(request);
  return candidates_of(*asked.planner, skewed.situation, asked.options);
}

TEST(AfterGate, HasNoMoreSlotsThanThereAreExpertsOnOtherRanks) {
  const SkewedSituation skewed;  // 8 experts on 4 ranks
  for (const char* planner : {"ultraep:slots=64", "moonep:slots=64", "llep:slots=64"}) {
    for (const Candidate& one : candidates(skewed, planner)) {
      EXPECT_NO_THROW(moe::apply(skewed.program, one.schedule)) << planner;
      for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(one.schedule)) {
        EXPECT_EQ(decision.placement.late.slots, 6) << planner;
      }
    }
  }
}

TEST(AfterGate, SaysWhatItChose) {
  const SkewedSituation skewed;
  for (const char* planner : {"ultraep", "moonep", "llep"}) {
    const Planner& named = planner_named(planner);
    const moe::Schedule schedule = plan_with(named, skewed.situation, {});
    const auto decisions = moe::decisions_of<moe::ReplicateExperts>(schedule);
    ASSERT_FALSE(decisions.empty());
    const moe::LateCopies& late = decisions[0].placement.late;
    const bool is_llep = late.rule == moe::LateRule::llep;
    EXPECT_EQ(parameters_of(named, {}, schedule),
              is_llep ? "{\"rows\": " + std::to_string(late.least_rows) + "}"
                      : "{\"slots\": " + std::to_string(late.slots) + "}");
    EXPECT_THAT(remark_of(named, skewed.situation, {}, schedule), HasSubstr("times the mean"));
  }
}

TEST(AfterGate, LayersShareTheirSlotsWhereAskedTo) {
  const SkewedSituation skewed;
  for (const char* planner : {"ultraep:shared=1", "moonep:shared=1", "llep:shared=1"}) {
    for (const Candidate& one : candidates(skewed, planner)) {
      EXPECT_THAT(one.parameters_json, HasSubstr("\"shared\": 1"));
      EXPECT_NO_THROW(moe::apply(skewed.program, one.schedule)) << planner;
      for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(one.schedule)) {
        EXPECT_EQ(decision.placement.late.slots_of, moe::SlotsOf::all_layers) << planner;
      }
    }
  }
}

TEST(AfterGate, CandidatesOfAPlannerDiffer) {
  const SkewedSituation skewed;
  for (const char* planner : {"ultraep", "feplb", "moonep", "llep"}) {
    std::set<std::string> schedules, parameters;
    const auto all = candidates(skewed, planner);
    for (const Candidate& one : all) {
      schedules.insert(moe::to_json(one.schedule));
      parameters.insert(one.parameters_json);
    }
    EXPECT_EQ(schedules.size(), all.size()) << planner;
    EXPECT_EQ(parameters.size(), all.size()) << planner;
  }
}

TEST(AfterGate, InsideNodesOfOneRankAllExpertsStayAtHome) {
  const SkewedSituation skewed;  // 4 nodes of one rank
  for (const Candidate& one : candidates(skewed, "feplb")) {
    EXPECT_TRUE(one.schedule.decisions.empty());
    EXPECT_EQ(remark_of(planner_named("feplb"), skewed.situation, {}, one.schedule),
              "feplb: all experts stay at home");
  }
}

}  // namespace
}  // namespace tuner::after_gate_test
