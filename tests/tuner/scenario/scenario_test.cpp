#include "tuner/scenario/scenario.h"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "db/store.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/source_tree.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace tuner::scenario_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ScenarioOptions of(const std::string& cluster, std::optional<int> ranks = std::nullopt) {
  ScenarioOptions options;
  options.model = "tiny";
  options.cluster = cluster;
  options.ranks = ranks;
  return options;
}

std::string refusal(const ScenarioOptions& options) {
  try {
    load_scenario(options);
  } catch (const std::exception& error) {
    EXPECT_EQ(moe::exit_code(error), 2);
    return error.what();
  }
  return "none";
}

TEST(Scenario, TakesAllRanksOfTheClusterAsOneExpertGroupUnlessTold) {
  const Scenario all = load_scenario(of("box"));
  EXPECT_EQ(all.groups.ranks, all.cluster.nodes * all.cluster.ranks_per_node);
  EXPECT_EQ(all.groups.layout.expert, all.groups.ranks);
  ScenarioOptions some = of("box", 2);
  some.layout = "dp=2,ep=1";
  EXPECT_EQ(load_scenario(some).groups.ranks, 2);
  EXPECT_EQ(load_scenario(some).groups.layout.expert, 1);
}

TEST(Scenario, SaysThatAGpuHasNoTimeOfFusedAttention) {
  const auto said = [](const std::string& cluster, const std::string& precision) {
    ScenarioOptions options = of(cluster, 2);
    options.settings = {"training.precision=" + precision};
    const auto remarks = load_scenario(options).remarks;
    return std::ranges::count_if(remarks, [](const std::string& remark) {
      return remark.find("has no fit.attention_bf16") != std::string::npos;
    });
  };
  const std::string path = ::testing::TempDir() + "no_attention.toml";
  std::ofstream(path) << "device = \"cuda\"\nnodes = 1\nranks_per_node = 2\n[intra_node]\n"
                         "bandwidth_gbit_per_s = 100\n[fit.gemm]\nalpha_s = 1e-6\n"
                         "beta_s_per_flop = 1e-14\n[fit.gemm_bf16]\nalpha_s = 1e-6\n"
                         "beta_s_per_flop = 1e-15\n[fit.memory]\nalpha_s = 1e-6\n"
                         "beta_s_per_byte = 1e-12\n";
  EXPECT_EQ(said(path, "bf16"), 1);
  EXPECT_EQ(said(path, "f32"), 0) << "which has no fused kernel elsewhere either";
  EXPECT_EQ(said("dgx-h100", "bf16"), 0);
}

TEST(Scenario, RoutesWhatItsModelRoutes) {
  const Scenario scenario = load_scenario(of("box", 2));
  ASSERT_EQ(scenario.routing.layers.size(), 2u);
  EXPECT_EQ(scenario.routing.layers[0].layer, 1);
  EXPECT_EQ(scenario.routing.layers[1].layer, 3);
  EXPECT_EQ(moe::source_ranks(scenario.routing.layers[0]), 2);
}

TEST(Scenario, RefusesWhatItDoesNotKnowAndWhatDoesNotFit) {
  EXPECT_THAT(refusal(of("bix")), AllOf(HasSubstr("bix"), HasSubstr("box")));
  ScenarioOptions options = of("box");
  options.model = "tony";
  EXPECT_THAT(refusal(options), AllOf(HasSubstr("tony"), HasSubstr("tiny")));
  EXPECT_THAT(refusal(of("box", 131'073)),
              HasSubstr("131073 ranks: expected at most 131072: choose with --ranks"));
  options = of("box", 4);
  options.layout = "ep=3";
  EXPECT_THAT(refusal(options), HasSubstr("layout ep=3 makes 3 ranks, but there are 4: nearest: "));
  EXPECT_EQ(refusal(of("measured")), "--cluster measured needs --db FILE");
}

TEST(Scenario, SettingsChangeKeysOfTheModelAndOfTheCluster) {
  ScenarioOptions options = of("box");
  options.settings = {"cluster.nodes=2", "moe.experts=4", "cluster.inter_node.latency_s=0.5",
                      "cluster.fit.broadcast.link=inter_node",
                      "cluster.fit.broadcast.points=[[1024, 0.1], [2048, 0.3]]"};
  const Scenario scenario = load_scenario(options);
  EXPECT_EQ(scenario.groups.ranks, 2);
  EXPECT_EQ(scenario.model.experts, 4);
  EXPECT_EQ(scenario.cluster.inter_node.latency_s, 0.5);
  EXPECT_EQ(scenario.costs.fits.at("broadcast/inter_node").points.size(), 2u);
  const auto with = [&](const std::string& setting) {
    options.settings = {setting};
    return refusal(options);
  };
  EXPECT_THAT(with("cluster.nodes=0"),
              HasSubstr("--set cluster.nodes=0: nodes: expected an integer from 1 to 1000000"));
  EXPECT_THAT(with("cluster.nodse=2"), HasSubstr("--set cluster.nodse=2: nodse: unknown key"));
  options.cluster = "measured";
  EXPECT_THAT(with("cluster.memory=2"), HasSubstr("--cluster measured has no file"));
}

TEST(Scenario, AFasterNetworkMakesExchangesFaster) {
  const auto beta = [](const std::string& gbit) {
    ScenarioOptions options = of("box");
    options.settings = {"cluster.inter_node.bandwidth_gbit_per_s=" + gbit};
    return load_scenario(options).costs.fits.at("all_to_all/inter_node").beta_s_per_unit;
  };
  EXPECT_DOUBLE_EQ(beta("0.75"), 1.15e-8);
  EXPECT_DOUBLE_EQ(beta("7.5"), 1.15e-9);
}

TEST(Scenario, SaysThatALinkWhichNothingCrossesChangesNothing) {
  ScenarioOptions options = of("box");
  options.settings = {"cluster.intra_node.bandwidth_gbit_per_s=80"};
  EXPECT_THAT(load_scenario(options).remarks,
              ElementsAre("no two ranks are on one node: cluster.intra_node changes nothing"));
  options.settings = {"cluster.inter_node.bandwidth_gbit_per_s=80"};
  EXPECT_THAT(load_scenario(options).remarks, ElementsAre());
}

class MeasuredTest : public ::testing::Test {
 protected:
  db::TemporaryDirectory directory;
  std::string path = directory.file("a.db");
  db::Connection connection = db::open_writer(path);
  std::int64_t machine = db::find_or_insert(connection, db::sample_machine());

  ScenarioOptions measured(std::optional<int> ranks = std::nullopt) const {
    ScenarioOptions options = of("measured", ranks);
    options.database = path;
    return options;
  }
  std::int64_t run() { return db::insert(connection, db::sample_run(machine)); }
  /// As moe-tune fit stores them: of a run of its own, without ranks.
  void fit(const std::string& op, const std::string& link, int ranks, double beta, int nodes = 0) {
    db::Fit row;
    row.run_id = run();
    row.op = op;
    row.device = "cpu";
    row.ranks = ranks;
    row.link = link;
    row.alpha_s = 1e-6;
    row.beta_s_per_unit = beta;
    row.unit = op == "gemm" ? "flop" : "byte";
    row.samples = 5;
    row.nodes = nodes;
    db::insert(connection, std::vector{row});
  }
  void fit_machine() {
    fit("gemm", "", 1, 1e-11);
    fit("memory", "", 1, 1e-10);
  }
  void study(const std::string& name, const std::string& model_json, int ranks, double gemm_s,
             bool profiled = true, std::int64_t profile_run = 0) {
    db::Study row;
    row.name = name;
    row.model_json = model_json;
    row.settings_json = "{}";
    row.profile_runs_json = profile_run > 0 ? "[" + std::to_string(profile_run) + "]" : "[]";
    row.ranks = ranks;
    row.created_at = ++now;
    CostModel costs;
    costs.fits["gemm"].beta_s_per_unit = gemm_s;
    costs.fits["gemm"].unit = "flop";
    Cluster cluster;
    cluster.name = name;
    cluster.nodes = ranks;
    cluster.inter_node = {1e6, 0};
    row.cluster_json = profiled ? to_json(cluster) : "{}";
    row.cost_model_json = profiled ? to_json(costs) : "";
    db::insert(connection, row);
  }
  static double gemm(const Scenario& scenario) {
    return scenario.costs.fits.at("gemm").beta_s_per_unit;
  }

  double now = 1'000'000;
  const std::string tiny =
      moe::to_json(moe::load_model(moe::source_tree() / "experiments" / "models" / "tiny.toml"));
};

TEST_F(MeasuredTest, IsTheNewestProfileOfThisModelAndNumberOfRanks) {
  fit_machine();
  study("first", tiny, 2, 1e-3);
  study("second", tiny, 2, 2e-3);
  study("of four", tiny, 4, 4e-3);
  study("of another model", "{\"d_model\":1}", 2, 5e-3);
  study("not profiled yet", tiny, 2, 6e-3, false);
  EXPECT_EQ(gemm(load_scenario(measured(2))), 2e-3);
  EXPECT_EQ(load_scenario(measured(2)).cluster.name, "second");
  EXPECT_EQ(gemm(load_scenario(measured(4))), 4e-3);
  EXPECT_EQ(gemm(load_scenario(measured())), 4e-3) << "the newest of any number of ranks";
  EXPECT_EQ(load_scenario(measured()).groups.ranks, 4);
}

TEST_F(MeasuredTest, NodesOfOneThatWasMeasuredCostBetweenThemWhatTheirLinkSays) {
  fit_machine();
  fit("all_to_all", "intra_node", 4, 1e-9, 1);
  const double inside_s = 1e-6;  // alpha of the fit, which is the latency of the fastest one
  ScenarioOptions options = measured();
  options.settings = {"cluster.nodes=16"};
  EXPECT_THAT(refusal(options), HasSubstr("one node was measured: expected also --set "
                                          "cluster.inter_node.bandwidth_gbit_per_s=GBPS"));
  options.settings = {"cluster.inter_node.latency_s=1e-5"};
  EXPECT_THAT(refusal(options), HasSubstr("expected --set cluster.nodes=N too"));
  options.settings = {"cluster.nodes=16", "cluster.inter_node.bandwidth_gbit_per_s=8",
                      "cluster.inter_node.latency_s=1e-5"};
  options.ranks = 4;
  const Scenario scenario = load_scenario(options);
  EXPECT_EQ(scenario.cluster.nodes, 16);
  EXPECT_EQ(scenario.cluster.ranks_per_node, 4);
  EXPECT_EQ(scenario.groups.node_of.back(), 0);
  EXPECT_DOUBLE_EQ(scenario.cluster.inter_node.bandwidth_bytes_per_s, 1e9);
  const LinearFit& inside = scenario.costs.fits.at("all_to_all/intra_node");
  const LinearFit& between = scenario.costs.fits.at("all_to_all/inter_node");
  EXPECT_DOUBLE_EQ(inside.beta_s_per_unit, 1e-9) << "as measured";
  EXPECT_DOUBLE_EQ(between.beta_s_per_unit, 4e-9) << "4 ranks share a card of 1 GB/s";
  EXPECT_DOUBLE_EQ(between.alpha_s, inside_s * (1e-5 / 1e-6));
  EXPECT_THAT(scenario.remarks,
              ::testing::Contains("16 nodes as the 1 that was measured: collectives between nodes "
                                  "are those inside a node, at 8 Gbit/s a card and 10 us"));
  options.settings.emplace_back("cluster.inter_node.cards_per_node=4");
  EXPECT_DOUBLE_EQ(load_scenario(options).costs.fits.at("all_to_all/inter_node").beta_s_per_unit,
                   1e-9)
      << "each rank has a card";
}

TEST_F(MeasuredTest, MoreNodesThanWereMeasuredHaveTheirCosts) {
  fit_machine();
  fit("all_to_all", "inter_node", 2, 1e-8, 2);
  ScenarioOptions options = measured();
  options.settings = {"cluster.nodes=8"};
  options.ranks = 4;  // more than were measured
  const Scenario eight = load_scenario(options);
  EXPECT_EQ(eight.cluster.nodes, 8);
  EXPECT_EQ(eight.groups.node_of.back(), 3);
  EXPECT_DOUBLE_EQ(eight.costs.fits.at("all_to_all/inter_node").beta_s_per_unit, 1e-8);
  EXPECT_THAT(eight.remarks,
              ::testing::Contains("8 nodes as the 2 that were measured: collectives between nodes "
                                  "start as they do among 2"));
  options.settings = {"cluster.inter_node.bandwidth_gbit_per_s=1.6"};  // twice as fast
  options.ranks.reset();
  const Scenario faster = load_scenario(options);
  EXPECT_EQ(faster.groups.ranks, 2);
  EXPECT_DOUBLE_EQ(faster.costs.fits.at("all_to_all/inter_node").beta_s_per_unit, 5e-9);
  options.settings = {"cluster.nodes=0"};
  EXPECT_THAT(refusal(options), HasSubstr("--set cluster.nodes=0: nodes: expected an integer"));
}

TEST_F(MeasuredTest, RefusesCostsThatAnotherBuildStoredInAnotherForm) {
  study("x", tiny, 2, 1e-3);
  connection.database().exec(
      "UPDATE study SET cost_model_json = "
      "json_set(cost_model_json, '$.gaps', json('{\"same_stream_s\": 0}'))");
  EXPECT_EQ(refusal(measured(2)),
            "study \"x\": its costs are in another form than those of this build: moe-tune study "
            "\"x\" --model tiny --ranks 2 --db " +
                path + " --resume works them out again");
}

TEST_F(MeasuredTest, OfStudiesOnTwoNetworksOneIsToBeNamed) {
  const auto run_on = [&](const std::string& network) {
    db::Run run = db::sample_run(machine);
    run.network = network;
    return db::insert(connection, run);
  };
  study("fast", tiny, 2, 1e-3, true, run_on("box 1 Gbit/s"));
  EXPECT_THAT(
      load_scenario(measured(2)).remarks,
      ElementsAre(AllOf(HasSubstr("costs are those of study \"fast\", measured elsewhere: "),
                        HasSubstr("network box 1 Gbit/s, here "))));
  study("slow", tiny, 2, 2e-3, true, run_on("box 0.05 Gbit/s"));
  EXPECT_THAT(refusal(measured(2)), HasSubstr("choose with --cluster measured:TEXT"));
  ScenarioOptions asked = measured(2);
  asked.cluster = "measured:box 1 Gbit/s";
  EXPECT_EQ(load_scenario(asked).cluster.name, "fast");
  asked.cluster = "measured:0.05";
  EXPECT_EQ(load_scenario(asked).cluster.name, "slow");
  for (const char* nothing : {"measured:", "measured: "}) {
    asked.cluster = nothing;
    EXPECT_THAT(refusal(asked), HasSubstr("expected a part of a machine's or network's name"));
  }
  // What is not known may be either of the two.
  study("newest", tiny, 2, 3e-3, true, run_on(""));
  EXPECT_THAT(refusal(measured(2)), HasSubstr("choose with --cluster measured:TEXT"));
  asked.cluster = "measured:box 1 Gbit/s";
  EXPECT_EQ(load_scenario(asked).cluster.name, "fast");
  asked.cluster = "measured:not known";
  EXPECT_EQ(load_scenario(asked).cluster.name, "newest");
}

TEST_F(MeasuredTest, IsTheFitsWhereNoStudyHasThatNumberOfRanks) {
  study("of four", tiny, 4, 4e-3);
  fit_machine();
  EXPECT_EQ(gemm(load_scenario(measured(1))), 1e-11);
  EXPECT_EQ(load_scenario(measured(1)).cluster.name, "measured");
}

TEST_F(MeasuredTest, NewerFitsReplaceOlderOnesAndShapesOfModelsDoNotCount) {
  fit_machine();
  fit("gemm", "", 1, 3e-11);
  fit("linear[8 rows, 4x6]", "", 1, 1);
  const Scenario scenario = load_scenario(measured());
  EXPECT_EQ(gemm(scenario), 3e-11);
  EXPECT_EQ(scenario.costs.fits.size(), 2u);
  EXPECT_EQ(scenario.groups.ranks, 1);
}

TEST_F(MeasuredTest, HasTheNodesThatItsCollectivesWereMeasuredOn) {
  fit_machine();
  fit("all_to_all", "inter_node", 4, 1e-9, 2);
  fit("all_reduce", "intra_node", 2, 1e-10, 1);
  const Scenario scenario = load_scenario(measured());
  EXPECT_EQ(scenario.cluster.nodes, 2);
  EXPECT_EQ(scenario.cluster.ranks_per_node, 2);
  EXPECT_THAT(scenario.groups.node_of, ElementsAre(0, 0, 1, 1));
  EXPECT_DOUBLE_EQ(scenario.cluster.inter_node.bandwidth_bytes_per_s, 2e9) << "of both its ranks";
}

TEST_F(MeasuredTest, RanksOfOneNodeAreOneNode) {
  fit_machine();
  fit("all_to_all", "intra_node", 3, 1e-9, 1);
  const Scenario scenario = load_scenario(measured(2));
  EXPECT_EQ(scenario.cluster.nodes, 1);
  EXPECT_EQ(scenario.cluster.ranks_per_node, 3);
}

TEST_F(MeasuredTest, OfACollectiveTheFitOfTheNearestNumberOfRanksCounts) {
  fit_machine();
  fit("all_to_all", "intra_node", 2, 2e-9, 1);
  fit("all_to_all", "intra_node", 4, 4e-9, 1);
  const auto beta = [&](std::optional<int> ranks) {
    return load_scenario(measured(ranks)).costs.fits.at("all_to_all/intra_node").beta_s_per_unit;
  };
  EXPECT_EQ(beta(std::nullopt), 4e-9);
  EXPECT_EQ(beta(4), 4e-9);
  EXPECT_EQ(beta(2), 2e-9);
}

class SeveralNetworks : public MeasuredTest {
 protected:
  /// As moe-tune fit stores the fits of one place.
  void fit_on(std::int64_t measured_on, const std::string& network, const std::string& op,
              int ranks, int nodes, double beta) {
    db::Fit row;
    row.run_id = run();
    row.op = op;
    row.device = "cpu";
    row.ranks = ranks;
    row.link = op == "all_to_all" ? "inter_node" : "";
    row.alpha_s = 1e-6;
    row.beta_s_per_unit = beta;
    row.unit = op == "gemm" ? "flop" : op.find("_beside_") != std::string::npos ? "second" : "byte";
    row.samples = 9;
    row.relative_deviation = 0.01;
    row.machine_id = measured_on;
    row.network = network;
    row.nodes = nodes;
    db::insert(connection, std::vector{row});
  }
  std::int64_t other_machine() {
    db::Machine other = db::sample_machine("other");
    other.hostname = "other";
    other.cores = 64;
    return db::find_or_insert(connection, other);
  }
  static double all_to_all(const Scenario& scenario) {
    return scenario.costs.fits.at("all_to_all/inter_node").beta_s_per_unit;
  }
};

/// Of a scenario, without that it was measured elsewhere: these machines are made up.
std::vector<std::string> remarks(const Scenario& scenario) {
  std::vector<std::string> all = scenario.remarks;
  std::erase_if(all, [](const std::string& remark) {
    return remark.find("measured elsewhere") != std::string::npos;
  });
  return all;
}

TEST_F(SeveralNetworks, AreRefusedUnlessOneIsMeant) {
  fit_on(machine, "", "gemm", 1, 0, 1e-11);
  fit_on(machine, "", "memory", 1, 0, 1e-10);
  fit_on(machine, "box 0.3 Gbit/s", "all_to_all", 2, 2, 27e-9);
  fit_on(machine, "box 0.3 Gbit/s", "computation_beside_inter_node", 2, 2, 2);
  EXPECT_THAT(load_scenario(measured()).remarks,
              ElementsAre(HasSubstr("costs are fits measured elsewhere: machine a processor, 4 "
                                    "cores, here ")))
      << "the only one, wherever that is";
  fit_on(machine, "box 1 Gbit/s", "all_to_all", 2, 2, 8e-9);
  EXPECT_THAT(refusal(measured()),
              AllOf(HasSubstr("was measured at node0 (a processor, 4 cores; box 0.3 Gbit/s"),
                    HasSubstr(" and at node0 (a processor, 4 cores; box 1 Gbit/s"),
                    HasSubstr("choose with --cluster measured:TEXT")));
  ScenarioOptions asked = measured();
  asked.cluster = "measured:box 1 Gbit/s";
  const Scenario one = load_scenario(asked);
  EXPECT_EQ(all_to_all(one), 8e-9);
  EXPECT_EQ(one.cluster.nodes, 2);
  EXPECT_THAT(remarks(one),
              ElementsAre(AllOf(HasSubstr("; box 1 Gbit/s); there are also fits of "),
                                HasSubstr("; box 0.3 Gbit/s)"), HasSubstr("measured:TEXT")),
                          HasSubstr("interference was not measured on ")));
  EXPECT_EQ(speed_of(one.costs.interference, Occupation::computation, Occupation::inter_node), 1);
  asked.cluster = "measured:0.3";
  EXPECT_EQ(all_to_all(load_scenario(asked)), 27e-9);
  asked.cluster = "measured:25";
  EXPECT_THAT(refusal(asked), HasSubstr("--cluster measured:25: "));
}

TEST_F(SeveralNetworks, TellHowManyCardsANodeHas) {
  fit_on(machine, "", "gemm", 1, 0, 1e-11);
  fit_on(machine, "", "memory", 1, 0, 1e-10);
  fit_on(machine, "box 2 x 1 Gbit/s", "all_to_all", 8, 2, 8e-9);
  ScenarioOptions asked = measured(8);
  asked.settings = {"moe.capacity_groups=8"};
  const Scenario two = load_scenario(asked);
  EXPECT_EQ(two.cluster.cards_per_node, 2);
  EXPECT_DOUBLE_EQ(two.cluster.inter_node.bandwidth_bytes_per_s, 2 / 8e-9) << "of a card";
  EXPECT_EQ(moe::network_card(two.groups, 1), moe::network_card(two.groups, 0));
  EXPECT_NE(moe::network_card(two.groups, 2), moe::network_card(two.groups, 0));
  EXPECT_THAT(remarks(two), ElementsAre());
  const auto with = [&](const std::string& cards) {
    asked.settings = {"moe.capacity_groups=8", "cluster.inter_node.cards_per_node=" + cards};
    return asked;
  };
  const Scenario four = load_scenario(with("4"));
  EXPECT_EQ(four.cluster.cards_per_node, 4);
  EXPECT_DOUBLE_EQ(four.cluster.inter_node.bandwidth_bytes_per_s, 1 / 8e-9);
  for (const char* wrong : {"3", "0", "8", "many"}) {
    EXPECT_THAT(refusal(with(wrong)), HasSubstr("--set cluster.inter_node.cards_per_node="))
        << wrong;
  }
}

TEST_F(SeveralNetworks, SayWhereTheCardsOfANodeAreNotKnown) {
  fit_on(machine, "", "gemm", 1, 0, 1e-11);
  fit_on(machine, "", "memory", 1, 0, 1e-10);
  fit_on(machine, "eth0 25 Gbit/s", "all_to_all", 4, 2, 8e-9);
  EXPECT_THAT(remarks(load_scenario(measured(4))),
              ElementsAre(AllOf(HasSubstr("how many network cards a node has is not known"),
                                HasSubstr("--set cluster.inter_node.cards_per_node=N"))));
  ScenarioOptions asked = measured(4);
  asked.settings = {"cluster.inter_node.cards_per_node=1"};
  EXPECT_THAT(remarks(load_scenario(asked)), ElementsAre());
}

TEST_F(SeveralNetworks, TheNearestNumberOfRanksCountsBeforeTheNewest) {
  fit_on(machine, "", "gemm", 1, 0, 1e-11);
  fit_on(machine, "", "memory", 1, 0, 1e-10);
  fit_on(machine, "box 1 Gbit/s", "all_to_all", 4, 4, 8e-9);
  fit_on(machine, "box 0.5 Gbit/s", "all_to_all", 2, 2, 16e-9);
  EXPECT_EQ(all_to_all(load_scenario(measured(4))), 8e-9);
  EXPECT_EQ(load_scenario(measured(4)).cluster.nodes, 4);
  EXPECT_EQ(all_to_all(load_scenario(measured(2))), 16e-9);
}

TEST_F(SeveralNetworks, ComputationIsThatOfTheSameMachine) {
  const std::int64_t other = other_machine();
  fit_on(machine, "", "gemm", 1, 0, 1e-11);
  fit_on(machine, "", "memory", 1, 0, 1e-10);
  fit_on(machine, "", "all_to_all", 2, 2, 8e-9);
  fit_on(other, "", "gemm", 1, 0, 5e-11);
  EXPECT_EQ(gemm(load_scenario(measured())), 1e-11);
  EXPECT_THAT(remarks(load_scenario(measured())), ElementsAre());
  fit_on(other, "box 1 Gbit/s", "all_to_all", 2, 2, 9e-9);
  ScenarioOptions asked = measured();
  asked.cluster = "measured:box 1 Gbit/s";
  const Scenario scenario = load_scenario(asked);
  EXPECT_EQ(gemm(scenario), 5e-11);
  EXPECT_THAT(
      remarks(scenario),
      ElementsAre(HasSubstr("costs are the fits of other"),
                  HasSubstr("memory were not measured on other: their fits are those of ")));
}

TEST_F(MeasuredTest, SaysHowToMeasureWhereThereIsNothing) {
  EXPECT_EQ(refusal(measured()), path + ": no fits: measure with moe-bench all --db " + path +
                                     " and moe-tune fit --db " + path + ", or run a study");
}

}  // namespace
}  // namespace tuner::scenario_test
