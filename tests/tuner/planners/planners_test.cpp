#include "tuner/planners/planners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "db/records.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tests/tuner/planners/even_situation.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/micro_batch_order/micro_batch_order.h"
#include "tuner/planners/micro_batch_order/two_batch.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipelined/pipelined.h"
#include "tuner/planners/pro_prophet/pro_prophet.h"
#include "tuner/planners/situation/situation_costs.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

namespace tuner::planners_test {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// --- planners on one small layer
// ------------------------------------------------------------------

struct PlannersTest : ::testing::Test {
  SmallLayer layer = small_layer(true);
  moe::Groups groups = two_nodes();
  moe::Routing routing = small_routing({{1000, 1000}, {1000, 1000}});
  CostModel costs = small_costs();
  Cluster cluster = small_cluster();
  Situation situation{layer.program, groups, routing, costs, cluster};

  double simulated(const moe::Schedule& schedule) {
    return simulate(moe::apply(layer.program, schedule), groups, routing, costs, cluster)
        .duration_s;
  }
};

TEST_F(PlannersTest, SequentialDecidesNothing) {
  const Planner& sequential = planner_named(db::kSequential);
  const moe::Schedule schedule = sequential.plan(situation, {});
  EXPECT_TRUE(schedule.decisions.empty());
  // permute 1, dispatch 1, experts 4, return 1, unrelated 4, combine 0.5; the exchange of counts
  EXPECT_NEAR(sequential.paper_seconds(situation, schedule), 11.5 + kExchange_s, 1e-9);
  EXPECT_NEAR(simulated(schedule), 11.5 + kExchange_s, 1e-9);
}

TEST_F(PlannersTest, TutelCutsBothPhasesAlike) {
  PlannerOptions options;
  EXPECT_EQ(degrees_of(plan_tutel(situation, options)).forward, 2);
  options.asked[kDegree.key] = 4;
  const auto schedule = plan_tutel(situation, options);
  EXPECT_EQ(degrees_of(schedule), (Degrees{4, 4}));
  EXPECT_EQ(moe::decisions_of<moe::StreamAssignment>(schedule),
            (std::vector{moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}));
}

TEST(Planners, EachIsFoundByItsNameAndDescribed) {
  EXPECT_EQ(planners().front().name, db::kSequential) << "every speed-up is against it";
  for (const Planner& planner : planners()) {
    EXPECT_FALSE(planner.description.empty()) << planner.name;
    // The first of a name is found: a second one would not be.
    EXPECT_EQ(parse_planner(planner.name).planner, &planner) << planner.name << " stands twice";
  }
}

TEST(Planners, AreParsedWithOptions) {
  for (const char* text : {"tutel:4", "tutel:degree=4"}) {
    EXPECT_EQ(asked_for(parse_planner(text).options, kDegree), 4) << text;
    EXPECT_EQ(to_text(parse_planner(text)), "tutel:degree=4");
  }
  EXPECT_EQ(parse_planners("sequential,tutel:2,pipemoe").size(), 3u);
  for (const char* wrong : {"tutle", "tutel:", "tutel:x", "tutel:0", "tutel:2x", "", "sequential:3",
                            "pipemoe:2", "pipemoe:", "tutel:degree", "tutel:degree=", "tutel:=4",
                            "tutel:degree=4:degree=4", "tutel:degree=4:", "tutel:degree=2.5",
                            "pmoe:degree=65", "pro_prophet:balance=nan", "top2:degree=2"}) {
    EXPECT_THROW(parse_planner(wrong), moe::InputError) << wrong;
  }
  const PlannerOptions pmoe = parse_planner("pmoe:degree=4:most_chunks=6").options;
  EXPECT_EQ(asked_for(pmoe, kDegree), 4);
  EXPECT_EQ(most_chunks(pmoe), 6);
  EXPECT_EQ(most_chunks({.most_chunks = 3}), 3);
  EXPECT_EQ(asked_for(parse_planner("pro_prophet:balance=0.25").options, kBalance), 0.25);
  EXPECT_THAT([] { parse_planner("pmoe:degre=4"); },
              ThrowsMessage<moe::InputError>(
                  "planner \"pmoe:degre=4\": pmoe takes no degre: expected pmoe and any of "
                  "degree=1..64, most_chunks=1..64"));
  EXPECT_THAT(
      [] { parse_planner("tutel:degree=0"); },
      ThrowsMessage<moe::InputError>(HasSubstr("degree: \"0\" is not an integer from 1 to 64")));
  try {
    parse_planner("tutle");
  } catch (const moe::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there are sequential, "));
  }
}

TEST_F(PlannersTest, OptionsThatWereAskedForAreAmongTheParameters) {
  Planner planner{.name = "test",
                  .description = "decides nothing",
                  .plan = [](const Situation&, const PlannerOptions&) {
                    return moe::Schedule{"test", {}};
                  }};
  PlannerOptions options;
  options.asked = {{"degree", 4}, {"balance", 0.5}};
  EXPECT_EQ(parameters_of(planner, {}, {}), "{}");
  EXPECT_EQ(parameters_of(planner, options, {}), R"({"balance": 0.5})");
  planner.parameters = [](const moe::Schedule&) { return std::string(R"({"sent": 2})"); };
  EXPECT_EQ(candidates_of(planner, situation, options).at(0).parameters_json,
            R"({"balance": 0.5, "sent": 2})");
  planner.parameters = [](const moe::Schedule&) { return std::string(R"({"balance": 1})"); };
  EXPECT_EQ(parameters_of(planner, options, {}), R"({"balance": 1})") << "the planner's own";
}

TEST_F(PlannersTest, AFailureOfAPlannerIsABugAndNamesIt) {
  Planner planner{.name = "test",
                  .description = "has a bug",
                  .plan = [](const Situation&, const PlannerOptions&) -> moe::Schedule {
                    throw std::invalid_argument("bug");
                  }};
  const auto named = ThrowsMessage<std::logic_error>("planner test: bug");
  EXPECT_THAT([&] { plan_with(planner, situation, {}); }, named);
  EXPECT_THAT([&] { candidates_of(planner, situation, {}); }, named);
  planner.plan = [](const Situation&, const PlannerOptions&) -> moe::Schedule {
    throw std::runtime_error("library failure");
  };
  EXPECT_THAT([&] { plan_with(planner, situation, {}); },
              ThrowsMessage<std::logic_error>("planner test: library failure"));
  planner.plan = [](const Situation&, const PlannerOptions&) -> moe::Schedule {
    throw moe::Refusal("test", "one expert", "expected two");
  };
  EXPECT_THAT([&] { plan_with(planner, situation, {}); },
              ThrowsMessage<moe::Refusal>("test: one expert: expected two"));
}

// --- on a whole model
// ------------------------------------------------------------------------------

struct ModelPlannersTest : ::testing::Test, EvenSituation {};

TEST_F(ModelPlannersTest, PipeMoeIsNoWorseThanAnyFixedDegree) {
  PlannerOptions options;
  options.most_chunks = 4;
  const auto seconds = [&](const moe::Schedule& schedule) {
    return simulate(moe::apply(program, schedule), groups, routing, costs, cluster).duration_s;
  };
  const double chosen_s = seconds(plan_pipemoe(situation, options));
  for (int degree = 1; degree <= 4; ++degree) {
    options.asked[kDegree.key] = degree;
    EXPECT_LE(chosen_s, seconds(plan_tutel(situation, options)) * (1 + 1e-9));
  }
}

TEST_F(ModelPlannersTest, EveryPlansScheduleAppliesAndPrintsAsJson) {
  for (const Planner& planner : planners()) {
    const moe::Schedule schedule = plan_with(planner, situation, {});
    EXPECT_EQ(schedule.planner, planner.name);
    EXPECT_EQ(moe::to_json(moe::schedule_from_json(moe::to_json(schedule))),
              moe::to_json(schedule));
    const auto scheduled = moe::apply(program, schedule);
    const double simulated = simulate(scheduled, groups, routing, costs, cluster).duration_s;
    if (planner.paper_seconds) {
      const double paper = planner.paper_seconds(situation, schedule);
      EXPECT_GT(paper, 0.5 * simulated) << planner.name;
      EXPECT_LT(paper, 1.5 * simulated) << planner.name;
    }
    EXPECT_LE(lower_bound(scheduled, groups, routing, costs, cluster).seconds(), simulated);
  }
}

TEST(MicroBatchOrder, PaperFormAndSimulationAgreeOnAPipelineWithoutCommunication) {
  moe::Model model;
  model.blocks = 4;
  model.moe_every = 0;
  model.global_batch = model.micro_batches = 8;
  Cluster cluster = small_cluster();
  cluster.nodes = 4;
  cluster.inter_node = {1e15, 0};
  const moe::Groups groups = groups_of(cluster, moe::Layout{1, 1, 1, 1, 4});
  const moe::Program program = moe::build_iteration(model, groups, 0);
  CostModel costs;
  costs.fits["gemm"].beta_s_per_unit = 1e-10;
  costs.fits["memory"].beta_s_per_unit = 0;
  const moe::Routing none;
  const Situation situation{program, groups, none, costs, cluster};
  const auto seconds = [&](const moe::Schedule& schedule) {
    return simulate(moe::apply(program, schedule), groups, none, costs, cluster).duration_s;
  };
  const double one_by_one = seconds({});
  for (auto* plan : {plan_gpipe, plan_one_f_one_b}) {
    const moe::Schedule schedule = plan(situation, {});
    const double paper = micro_batch_order_paper_seconds(situation, schedule);
    // The last stage has the head too: its work counts everywhere in the paper's form.
    EXPECT_LE(seconds(schedule), paper * (1 + 1e-9));
    EXPECT_GT(seconds(schedule), 0.6 * paper);
    EXPECT_LT(seconds(schedule), 0.6 * one_by_one);
  }
  EXPECT_EQ(candidates_of(planner_named("gpipe"), situation, {}).size(), 1u);
}

TEST(TwoBatch, HidesExchangesOfOneMicroBatchUnderTheOther) {
  moe::Model model;
  model.moe_every = 1;
  model.global_batch = 16;
  model.micro_batches = 4;
  Cluster cluster = small_cluster();
  cluster.nodes = 4;
  const moe::Groups groups = groups_of(cluster, moe::Layout{1, 4});
  const moe::Program program = moe::build_iteration(model, groups, 0);
  CostModel costs;
  costs.fits["gemm"].beta_s_per_unit = 1e-9;
  costs.fits["memory"].beta_s_per_unit = 0;
  const moe::Routing routing = make_routing("uniform", program, groups, 1);
  const Situation situation{program, groups, routing, costs, cluster};
  const moe::Schedule schedule = plan_two_batch(situation, {});
  const double sequential = simulated_s(situation, {}),
               simulated = simulated_s(situation, schedule),
               paper = two_batch_paper_seconds(situation, schedule);
  EXPECT_LT(paper, 0.95 * sequential);
  EXPECT_NEAR(simulated, paper, 0.05 * paper);
}

/// Every planner's schedules, and its candidates', are legal for the model's Program.
void expect_legal_schedules(const moe::Model& model, const moe::Layout& layout) {
  CostModel costs;
  costs.fits["gemm"].beta_s_per_unit = 1e-10;
  costs.fits["memory"].beta_s_per_unit = 1e-10;
  PlannerOptions options;
  options.most_chunks = 3;
  Cluster cluster = small_cluster();
  cluster.nodes = moe::rank_count(layout);
  const moe::Groups groups = groups_of(cluster, layout);
  const moe::Program program = moe::build_iteration(model, groups, 0);
  const moe::Routing routing = make_routing("uniform", program, groups, 1);
  const Situation situation{program, groups, routing, costs, cluster};
  for (const Planner& planner : planners()) {
    EXPECT_NO_THROW(moe::apply(program, plan_with(planner, situation, options)))
        << planner.name << " " << model.name << " " << to_text(layout) << model.micro_batches;
    for (const Candidate& candidate : candidates_of(planner, situation, options)) {
      EXPECT_NO_THROW(moe::apply(program, candidate.schedule)) << candidate.parameters_json;
    }
  }
}

TEST(Planners, ScheduleWhateverTheProgramHas) {
  for (const int moe_every : {0, 1}) {
    for (const moe::Layout& layout :
         {moe::Layout{}, moe::Layout{1, 2, 1}, moe::Layout{1, 1, 2}, moe::Layout{1, 1, 1, 1, 2}}) {
      for (const int micro_batches : {1, 2}) {
        moe::Model model;
        model.moe_every = moe_every;
        model.micro_batches = micro_batches;
        expect_legal_schedules(model, layout);
      }
    }
  }
}

TEST(Planners, ScheduleTheModelsOfEveryKind) {
  int models = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(MOELAB_SOURCE_DIR "/experiments/models")) {
    if (!file.path().filename().string().starts_with("tiny-")) continue;
    const moe::Model model =
        moe::load_model(file.path(), {"training.micro_batches=2", "model.blocks=2"});
    expect_legal_schedules(model, {1, 2, 1});
    expect_legal_schedules(model, {1, 1, 1, 1, 2});
    expect_legal_schedules(model, {1, 2, 1, 2});
    ++models;
  }
  EXPECT_GE(models, 4);
}

TEST_F(ModelPlannersTest, OneMicroBatchLeavesNothingToOrder) {
  EXPECT_TRUE(candidates_of(planner_named("gpipe"), situation, {}).empty());
  EXPECT_TRUE(plan_one_f_one_b(situation, {}).decisions.empty());
  EXPECT_TRUE(candidates_of(planner_named("two_batch"), situation, {}).empty());
  EXPECT_TRUE(plan_two_batch(situation, {}).decisions.empty());
  for (const Planner& planner : planners()) {
    if (planner.passes == Passes::undecided || planner.name == db::kSequential) continue;
    const moe::Schedule schedule = plan_with(planner, situation, {});
    EXPECT_TRUE(schedule.decisions.empty()) << planner.name;
    EXPECT_THAT(remark_of(planner, situation, {}, schedule),
                HasSubstr("decides nothing here: micro_batches = 1, pp = 1"))
        << planner.name;
  }
}

TEST_F(ModelPlannersTest, CandidatesOfPipeMoeAreAllPairs) {
  PlannerOptions options;
  options.most_chunks = 4;
  EXPECT_EQ(pipemoe_candidates(situation, options).size(), 16u);
  EXPECT_EQ(tutel_candidates(situation, options).size(), 4u);
  options.asked[kDegree.key] = 3;
  ASSERT_EQ(tutel_candidates(situation, options).size(), 1u);
  EXPECT_EQ(candidates_of(planner_named("tutel"), situation, options)[0].parameters_json,
            R"({"forward_chunks": 3, "backward_chunks": 3})");
}

}  // namespace
}  // namespace tuner::planners_test
