#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/db/temporary_directory.h"
#include "tests/tuner/commands/moe_tune.h"

namespace tuner::command_line_test {
namespace {

using test::moe_tune;
using test::with;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CommandLine, HelpShowsExamplesAndPlanners) {
  const auto help = moe_tune({"-h"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, HasSubstr("Examples:"));
  EXPECT_THAT(help.output, HasSubstr("pipemoe"));
  EXPECT_THAT(moe_tune({"--version"}).output, HasSubstr("moe-tune "));
}

TEST(CommandLine, WrongUseIsExitCodeTwoWithAReason) {
  EXPECT_EQ(moe_tune({}).code, 2);
  EXPECT_EQ(moe_tune({"plna"}).code, 2);
  const auto planner = moe_tune(with({"plan"}, {"--planner", "tutle"}));
  EXPECT_EQ(planner.code, 2);
  EXPECT_THAT(planner.errors, HasSubstr("no planner \"tutle\""));
  const auto cluster =
      moe_tune({"plan", "--model", "micro", "--cluster", "nowhere", "--planner", "tutel"});
  EXPECT_EQ(cluster.code, 2);
  EXPECT_THAT(cluster.errors, HasSubstr("box"));  // the names there are
  EXPECT_EQ(moe_tune(with({"simulate"}, {})).code, 2);
  EXPECT_EQ(moe_tune(with({"compare"}, {"--routing", "zipf:x"})).code, 2);
  EXPECT_EQ(moe_tune({"compare", "--model", "micro", "--cluster", "measured"}).code, 2);
  EXPECT_EQ(moe_tune({"compare", "--model", "micro", "--cluster", "box", "--ranks", "3", "--layout",
                      "ep=3"})
                .code,
            2);
  EXPECT_EQ(moe_tune({"fit", "--db", "/nonexistent/x.db"}).code, 2);
}

TEST(CommandLine, AMistypedDatabaseIsNotMade) {
  const std::string path = ::testing::TempDir() + "mistyped" + std::to_string(getpid()) + ".db";
  for (const auto& arguments :
       {std::vector<std::string>{"fit", "--db", path},
        with({"simulate"}, {"--planner", "tutel:2", "--db", path}),
        {"compare", "--model", "micro", "--cluster", "measured", "--db", path}}) {
    const auto result = moe_tune(arguments);
    EXPECT_EQ(result.code, 2) << arguments[0];
    EXPECT_THAT(result.errors, HasSubstr("no such file")) << arguments[0];
    EXPECT_FALSE(std::filesystem::exists(path)) << arguments[0];
  }
}

TEST(CommandLine, SimulateTellsMemoryOverTime) {
  const auto summary = moe_tune(with({"simulate"}, {"--planner", "tutel:2", "--format", "json"}));
  ASSERT_EQ(summary.code, 0) << summary.errors;
  const auto row = nlohmann::json::parse(summary.output).at(0);
  EXPECT_LE(row.at("peak_in_use_bytes"), row.at("predicted_peak_bytes"));
  EXPECT_LE(row.at("peak_at_s"), row.at("predicted_s"));
  EXPECT_TRUE(row.at("predicted_deviation_s").is_null()) << "the file says nothing of samples";

  const auto memory =
      moe_tune(with({"simulate"}, {"--planner", "tutel:2", "--memory", "--format", "json"}));
  ASSERT_EQ(memory.code, 0) << memory.errors;
  std::int64_t most = 0;
  for (const auto& use : nlohmann::json::parse(memory.output)) {
    most = std::max(most, use.at("in_use_bytes").get<std::int64_t>());
  }
  EXPECT_EQ(most, row.at("peak_in_use_bytes"));
  EXPECT_EQ(moe_tune(with({"simulate"}, {"--planner", "tutel:2", "--iterations", "3"})).code, 2);
}

TEST(CommandLine, FitsOfAClusterFileHaveNoSamples) {
  const auto fits = moe_tune(with({"simulate"}, {"--planner", "tutel:2", "--fits"}));
  EXPECT_EQ(fits.code, 0);
  EXPECT_THAT(fits.errors, HasSubstr("gemm_f64, as the cluster file says"));
  EXPECT_THAT(fits.errors, Not(HasSubstr("samples")));
}

/// A file below TempDir() that holds `text`.
std::string file_of(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + name;
  std::ofstream(path) << text;
  return path;
}

constexpr const char* kTwoNodes = R"(name = "two nodes"
device = "cpu"
nodes = 2
ranks_per_node = 2
[inter_node]
bandwidth_gbit_per_s = 1.0
latency_s = 1e-4
[intra_node]
bandwidth_gbit_per_s = 10.0
latency_s = 1e-5
[fit.gemm_f64]
alpha_s = 1e-6
beta_s_per_flop = 2e-11
[fit.memory]
alpha_s = 1e-6
beta_s_per_byte = 1e-10
)";

TEST(CommandLine, FitsThatNoOpUsesAreNamedOnce) {
  const std::string cluster =
      file_of("unused.toml", std::string(kTwoNodes) +
                                 "[fit.send_experts]\nlink = \"inter_node\"\n"
                                 "alpha_s = 1e-4\nbeta_s_per_byte = 1e-8\n");
  for (const std::string command : {"simulate", "compare"}) {
    std::vector<std::string> arguments{command, "--model", "micro", "--cluster", cluster};
    arguments.insert(arguments.end(),
                     command == "compare"
                         ? std::initializer_list<std::string>{"--planners", "tutel,fsmoe"}
                         : std::initializer_list<std::string>{"--planner", "tutel"});
    const auto result = moe_tune(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    const std::string said = "no op uses the fit of send_experts/inter_node";
    const auto first = result.errors.find(said);
    ASSERT_NE(first, std::string::npos) << command << result.errors;
    EXPECT_EQ(result.errors.find(said, first + 1), std::string::npos) << command;
  }
}

TEST(CommandLine, AStudyOfWhichNothingIsMeasuredEndsWithOne) {
  const db::TemporaryDirectory directory;
  const auto study = moe_tune({"study", "s", "--model", "micro", "--db", directory.file("a.db"),
                               "--planners", "tutel:2", "--steps", "3", "--repeats", "1",
                               "--profile-rounds", "1", "--trial-time-limit", "0.001"});
  EXPECT_EQ(study.code, 1);
  EXPECT_THAT(study.errors, HasSubstr("study \"s\": no trial was measured: 2 hung"));
  EXPECT_EQ(
      moe_tune({"study", "s", "--model", "micro", "--db", directory.file("b.db"), "--retry-failed"})
          .code,
      2)
      << "it needs --resume";
  for (const char* budget : {"2x", "h", "-1h", "0", "nan"}) {
    const auto refused = moe_tune(
        {"study", "s", "--model", "micro", "--db", directory.file("b.db"), "--budget", budget});
    EXPECT_EQ(refused.code, 2) << budget;
    EXPECT_THAT(refused.errors, HasSubstr("expected a time such as 90s, 30m, 2h or 1d"));
  }
  const auto dry =
      moe_tune({"study", "s", "--model", "micro", "--db", directory.file("b.db"), "--planners",
                "tutel:2", "--profile-rounds", "1", "--format", "csv", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.errors;
  EXPECT_THAT(dry.output, HasSubstr("what,planner,parameters,runs,iterations,iteration_s,"));
  EXPECT_THAT(dry.output, HasSubstr("trial,sequential,{},3,20,"));
  EXPECT_FALSE(std::filesystem::exists(directory.file("b.db")));
}

TEST(CommandLine, AMisspeltOptionIsToldAsThat) {
  const auto study = moe_tune({"study", "s", "--modle", "micro", "--db", "none.db"});
  EXPECT_EQ(study.code, 2);
  EXPECT_THAT(study.errors, HasSubstr("not expected"));
  EXPECT_THAT(study.errors, HasSubstr("--modle"));
  EXPECT_THAT(moe_tune({"study", "s", "--db", "none.db"}).errors, HasSubstr("--model is required"));
}

TEST(CommandLine, StudiesOfASweepEndInOneTable) {
  const db::TemporaryDirectory directory;
  const std::vector<std::string> sweep{"study",
                                       "s",
                                       "--model",
                                       "micro",
                                       "--db",
                                       directory.file("a.db"),
                                       "--set",
                                       "moe.choices=1,2",
                                       "--set",
                                       "moe.experts=4",
                                       "--planners",
                                       "tutel:2",
                                       "--steps",
                                       "3",
                                       "--repeats",
                                       "1",
                                       "--profile-rounds",
                                       "1",
                                       "--format",
                                       "csv"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), sweep.begin(), sweep.end());
    return moe_tune(more);
  };
  const auto dry = with({"--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.errors;
  EXPECT_THAT(dry.output, HasSubstr("moe.choices,moe.experts,what,planner,parameters,runs,"));
  EXPECT_THAT(dry.output, HasSubstr("\n2,4,trial,sequential,{},1,3,"));
  EXPECT_FALSE(std::filesystem::exists(directory.file("a.db")));
  const auto studies = with({});
  EXPECT_EQ(studies.code, 0) << studies.errors;
  EXPECT_THAT(studies.output,
              testing::StartsWith("moe.choices,moe.experts,study,planner,parameters,measured_s,"
                                  "tied_with,speedup,tokens_per_s,remark\n1,4,s moe.choices=1,"));
  EXPECT_THAT(studies.output, HasSubstr("\n2,4,s moe.choices=2,")) << "experts take one value";
  const auto again = with({"--resume", "--dry-run"});
  EXPECT_THAT(again.errors, HasSubstr("2 of 2 studies: about 0 s in all"));
  const auto partly = moe_tune({"study", "t", "--model", "micro", "--db", directory.file("b.db"),
                                "--set", "moe.choices=1,64", "--dry-run", "--format", "json"});
  EXPECT_EQ(partly.code, 0) << partly.errors;
  EXPECT_THAT(partly.errors, HasSubstr("study \"t moe.choices=64\": "));
  EXPECT_EQ(moe_tune({"study", "t", "--model", "micro", "--db", directory.file("b.db"), "--set",
                      "moe.choices=63,64", "--dry-run"})
                .code,
            2);
}

TEST(CommandLine, SaysWhetherThePlannedPeakFitsIntoTheMemoryOfARank) {
  const auto said = [](const std::string& memory, const std::string& command) {
    const std::string cluster = file_of("with_memory.toml", memory + kTwoNodes);
    const auto result =
        moe_tune({command, "--model", "micro", "--cluster", cluster, "--format", "json",
                  command == "compare" ? "--planners" : "--planner", "sequential"});
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.output).at(0).at("fits_memory");
  };
  for (const char* command : {"simulate", "compare"}) {
    EXPECT_EQ(said("memory = \"4K\"\n", command), "no") << command;
    EXPECT_EQ(said("memory = \"1G\"\n", command), "yes") << command;
    EXPECT_TRUE(said("", command).is_null()) << command;
  }
}

TEST(CommandLine, ExchangesAreSimulatedPlannedFromAndRefused) {
  const std::string cluster = file_of("two_nodes.toml", kTwoNodes);
  const auto schedule = [&](const std::string& name, const std::string& route) {
    return file_of(name,
                   R"({"decisions": [{"decision": "exchange", "layer": 1, "phase": "forward", )" +
                       route + "}]}");
  };
  const auto run = [&](std::vector<std::string> arguments) {
    for (const char* more : {"--model", "micro", "--cluster"}) arguments.emplace_back(more);
    arguments.push_back(cluster);
    return moe_tune(arguments);
  };
  const std::string two_d = schedule("two_d.json", R"("route": "two_d")");
  const auto timeline = run({"simulate", "--schedule", two_d, "--timeline"});
  EXPECT_EQ(timeline.code, 0) << timeline.errors;
  EXPECT_THAT(timeline.output, HasSubstr("dispatch across nodes"));
  const auto planned = run({"plan", "--planner", "tutel:2", "--given", two_d});
  ASSERT_EQ(planned.code, 0) << planned.errors;
  EXPECT_THAT(planned.output, HasSubstr(R"("route": "two_d")"));
  EXPECT_THAT(planned.output, HasSubstr(R"("kind": "exchange_in_node")"));
  EXPECT_THAT(planned.output, HasSubstr(R"("chunks": 2)"));
  EXPECT_EQ(run({"simulate", "--schedule", file_of("planned.json", planned.output)}).code, 0);
  const std::string threes =
      schedule("threes.json", R"("route": "pairwise", "ranks_per_group": 3)");
  for (const char* option : {"--schedule", "--given"}) {
    const bool plans = std::string(option) == "--given";
    const auto refused = plans ? run({"plan", "--planner", "tutel:2", option, threes})
                               : run({"simulate", option, threes});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.errors, HasSubstr("threes.json: exchange: pairwise in groups of 3 (layer "
                                          "1, forward): 4 ranks exchange rows: expected one of "
                                          "1, 2, 4"));
  }
}

TEST(CommandLine, AnIterationOfTooManyOpsIsRefusedBeforeItIsBuilt) {
  const std::string model = file_of("huge.toml", R"(base = "micro"
[model]
blocks = 1000
[training]
global_batch = 4096
micro_batches = 4096
)");
  for (const auto& arguments :
       {std::vector<std::string>{"plan", "--cluster", "box", "--planner", "tutel:2"},
        {"simulate", "--cluster", "box", "--planner", "tutel:2"},
        {"compare", "--cluster", "box"},
        {"study", "s", "--db", ::testing::TempDir() + std::to_string(getpid()) + "huge.db"}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--model", model});
    const auto result = moe_tune(all);
    EXPECT_EQ(result.code, 2) << arguments[0];
    EXPECT_THAT(result.errors, HasSubstr("4096000 passes through a block, each with ops of its "
                                         "own: expected at most 16384, so micro_batches = 4 or"));
  }
}

TEST(CommandLine, WhatIsGivenBesideThePlannersOwnDecisionIsToBeLeftOut) {
  const std::string split =
      R"({"chunks":3,"decision":"pipeline_split","layer":1,"phase":"forward"})";
  const std::string stream =
      R"({"decision":"assign_stream","kind":"all_to_all","stream":"intra_node"})";
  const std::string other =
      R"({"decision":"assign_stream","kind":"all_reduce","stream":"intra_node"})";
  const auto plan = [&](const std::string& planner, const std::string& decisions) {
    const std::string file = file_of("given.json", "{\"decisions\": [" + decisions + "]}");
    return moe_tune(with({"plan"}, {"--planner", planner, "--given", file}));
  };
  for (const char* planner : {"tutel:2", "pipemoe"}) {
    const std::string name = std::string(planner).substr(0, std::string(planner).find(':'));
    const auto streams = plan(planner, stream + "," + other);
    EXPECT_EQ(streams.code, 2);
    EXPECT_THAT(
        streams.errors,
        HasSubstr("given.json: " + stream + ": planner " + name +
                  " decides that too, as "
                  R"({"decision":"assign_stream","kind":"all_to_all","stream":"inter_node"})"
                  ": leave it out of the file, or plan with another planner"));
    const auto followed = plan(planner, other);
    EXPECT_EQ(followed.code, 0) << followed.errors;
    EXPECT_THAT(followed.output, HasSubstr(R"("kind": "all_reduce")"));
    EXPECT_EQ(plan("sequential", stream + "," + other).code, 0);
  }
  EXPECT_THAT(plan("tutel:2", split).errors,
              HasSubstr(split + ": planner tutel decides that too, as "
                                R"({"chunks":2,"decision":"pipeline_split",)"));
}

TEST(CommandLine, APlanThatDoesNotFitTheMemoryIsSaid) {
  const auto plan = [&](const char* memory) {
    return moe_tune(with({"plan"}, {"--planner", "tutel:2", "--set", memory}));
  };
  const auto large = plan("cluster.memory=1K");
  EXPECT_EQ(large.code, 0);
  EXPECT_THAT(large.errors, ContainsRegex("the schedule needs [0-9]+ bytes of a rank's memory, and "
                                          "cluster [^ ]+ has 1024;"));
  EXPECT_THAT(plan("cluster.memory=100G").errors, Not(HasSubstr("of a rank's memory")));
}

TEST(CommandLine, OutputThatIsNotTakenIsAnError) {
  const auto plan = moe_tune(with({"plan"}, {"--planner", "tutel:2", "-o", "/dev/full"}));
  EXPECT_EQ(plan.code, 1);
  EXPECT_THAT(plan.errors, HasSubstr("/dev/full: cannot be written: No space left on device"));
  const auto simulated =
      moe_tune(with({"simulate"}, {"--planner", "tutel:2", "--trace", "/dev/full"}));
  EXPECT_EQ(simulated.code, 1);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(CommandLine, APlanIsASchedule) {
  const auto plan = moe_tune(with({"plan"}, {"--planner", "tutel:3"}));
  ASSERT_EQ(plan.code, 0) << plan.errors;
  const auto json = nlohmann::json::parse(plan.output);
  EXPECT_EQ(json.at("planner"), "tutel");
  EXPECT_EQ(json.at("decisions").size(), 5u);  // two layers, two phases; one stream
}

TEST(CommandLine, SimulatesAPlanAndWritesATrace) {
  const auto directory = std::filesystem::path(::testing::TempDir()) /
                         ("command_line_test" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  const std::string schedule = directory / "s.json", trace = directory / "t.json";
  ASSERT_EQ(moe_tune(with({"plan"}, {"--planner", "pipemoe", "-o", schedule})).code, 0);
  const auto simulated = moe_tune(with({"simulate"}, {"--schedule", schedule, "--trace", trace,
                                                      "--format", "json", "--routing", "zipf:1"}));
  ASSERT_EQ(simulated.code, 0) << simulated.errors;
  const auto row = nlohmann::json::parse(simulated.output).at(0);
  EXPECT_EQ(row.at("planner"), "pipemoe");
  EXPECT_LE(row.at("lower_bound_s").get<double>(), row.at("predicted_s").get<double>());
  std::ifstream file(trace);
  EXPECT_FALSE(nlohmann::json::parse(file).at("traceEvents").empty());
  std::filesystem::remove_all(directory);
}

TEST(CommandLine, ATraceOnStdoutIsAlone) {
  const auto simulate = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--planner", "tutel:2", "--trace", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return moe_tune(with({"simulate"}, arguments));
  };
  const auto simulated = simulate({});
  ASSERT_EQ(simulated.code, 0) << simulated.errors;
  EXPECT_FALSE(nlohmann::json::parse(simulated.output).at("traceEvents").empty());
  for (const char* other : {"--timeline", "--breakdown", "--memory"}) {
    const auto both = simulate({other});
    EXPECT_EQ(both.code, 2) << other;
    EXPECT_EQ(both.output, "") << other;
  }
}

TEST(CommandLine, TimelinesAndBreakdownsHonourTheFormat) {
  const auto rows = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--planner", "tutel:2", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = moe_tune(with({"simulate"}, arguments));
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.output);
  };
  double spans_s = 0, breakdown_s = 0;
  int shares = 0;
  for (const auto& span : rows({"--timeline"})) {
    spans_s += span.at("duration_s").get<double>();
    shares += span.at("kind") == "all_to_all" && span.at("shares") == 2 ? 1 : 0;
  }
  EXPECT_GT(shares, 0);
  for (const auto& row : rows({"--breakdown"})) {
    breakdown_s += row.at("time_s").get<double>();
    EXPECT_LE(row.at("time_s").get<double>(), row.at("longest_rank_s").get<double>() * (1 + 1e-9));
  }
  EXPECT_NEAR(breakdown_s, spans_s / 4, 1e-9 * spans_s);  // the mean of 4 ranks
}

TEST(CommandLine, WhatChangesResultsIsMarkedWhereverItIsPredicted) {
  const std::string given = file_of("bf16.json", R"({"decisions": [
    {"decision": "compress_exchange", "layer": 1, "phase": "forward", "format": "bf16"}]})");
  const auto usual = moe_tune(with({"compare"}, {"--planners", "tutel:2"}));
  EXPECT_THAT(usual.output, Not(HasSubstr("changes_results")));
  const auto compared = moe_tune(
      with({"compare"}, {"--planners", "tutel:2,pipemoe", "--given", given, "--format", "json"}));
  ASSERT_EQ(compared.code, 0) << compared.errors;
  const auto rows = nlohmann::json::parse(compared.output);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows.at(0).at("changes_results").is_null());
  EXPECT_TRUE(rows.at(1).at("given").is_null());
  EXPECT_EQ(rows.at(2).at("changes_results"), "compress_exchange");
  EXPECT_EQ(rows.at(3).at("given"), std::filesystem::path(given).stem().string());

  const auto planned = moe_tune(with({"plan"}, {"--planner", "tutel:2", "--given", given}));
  ASSERT_EQ(planned.code, 0) << planned.errors;
  EXPECT_THAT(planned.errors, HasSubstr("compress_exchange changes results"));
  const std::string schedule = file_of("planned.json", planned.output);
  const auto simulated = moe_tune(with({"simulate"}, {"--schedule", schedule}));
  ASSERT_EQ(simulated.code, 0) << simulated.errors;
  EXPECT_THAT(simulated.output, HasSubstr("changes_results"));
  EXPECT_THAT(simulated.output, HasSubstr("compress_exchange"));
  EXPECT_THAT(moe_tune(with({"simulate"}, {"--planner", "tutel:2"})).output,
              Not(HasSubstr("changes_results")));
}

}  // namespace
}  // namespace tuner::command_line_test
