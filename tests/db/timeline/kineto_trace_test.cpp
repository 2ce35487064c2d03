#include "db/timeline/kineto_trace.h"

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "db/console/output_error.h"
#include "db/export.h"
#include "db/load.h"
#include "db/timeline/collective_ranks.h"
#include "db/timeline/exchange_splits.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::kineto_trace_test {
namespace {

using nlohmann::json;

class ExportKineto : public testing::Test {
 protected:
  TemporaryDirectory directory;
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);

  json trace_of(int rank) {
    export_rank_traces(connection, load_timeline(connection, sample.measured),
                       directory.file("traces"));
    return json::parse(read_file(directory.file("traces/rank-" + std::to_string(rank) + ".json")));
  }
};

std::vector<json> of_category(const json& trace, const std::string& category) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event.value("cat", "") == category) found.push_back(event);
  }
  return found;
}

TEST_F(ExportKineto, SaysWhichRankOfWhichWorldAFileIsOf) {
  const json trace = trace_of(1);
  EXPECT_EQ(trace["schemaVersion"], 1);
  EXPECT_EQ(trace["distributedInfo"]["rank"], 1);
  EXPECT_EQ(trace["distributedInfo"]["world_size"], 2);
  EXPECT_EQ(trace["distributedInfo"]["pg_config"][0]["ranks"], json({0, 1}));
}

TEST_F(ExportKineto, HasAKernelAndALaunchPerOp) {
  const json trace = trace_of(0);
  const auto kernels = of_category(trace, "kernel");
  ASSERT_EQ(kernels.size(), 3U);
  std::map<int, double> launches;  // by correlation
  for (const json& launch : of_category(trace, "cuda_runtime")) {
    launches[launch["args"]["correlation"]] = launch["ts"];
  }
  for (const json& kernel : kernels) {
    EXPECT_EQ(launches.at(kernel["args"]["correlation"]), kernel["ts"]);
    EXPECT_EQ(kernel["args"]["stream"], kernel["tid"]);
  }
  EXPECT_EQ(of_category(trace, "user_annotation")[0]["name"],
            "ProfilerStep#" + std::to_string(load_timeline(connection, sample.measured).iteration));
}

TEST_F(ExportKineto, NamesCollectivesAsToolsKnowThem) {
  const auto kernels = of_category(trace_of(0), "kernel");
  const json& dispatch = *std::find_if(
      kernels.begin(), kernels.end(), [](const json& kernel) { return kernel["args"]["op"] == 1; });
  EXPECT_EQ(dispatch["name"], "ncclDevKernel_all_to_all dispatch 1/2");
  EXPECT_EQ(dispatch["args"]["Collective name"], "all_to_allv");
  EXPECT_EQ(dispatch["args"]["In msg nelems"], 4000000);
  EXPECT_EQ(dispatch["args"]["dtype"], "Byte");
  EXPECT_EQ(dispatch["args"]["Group size"], 2);
  EXPECT_EQ(dispatch["args"]["Process Group Ranks"], "[0,1]");
  EXPECT_FALSE(dispatch["args"].contains("In split size")) << "of one of two chunks";
}

TEST_F(ExportKineto, NamesTheGroupOfACollectiveWhereARunHasSeveral) {
  connection.database().exec(
      "UPDATE program_op SET group_kind = 'expert' WHERE op = 1;"
      "INSERT INTO program_group SELECT id, 'expert', 0, 0 FROM program;"
      "INSERT INTO program_group SELECT id, 'expert', 1, 1 FROM program;"
      "INSERT INTO program_group SELECT id, 'stage', 0, 0 FROM program;"
      "INSERT INTO program_group SELECT id, 'stage', 1, 0 FROM program");
  for (const int rank : {0, 1}) {
    const json trace = trace_of(rank);
    const json& groups = trace["distributedInfo"]["pg_config"];
    ASSERT_EQ(groups.size(), 3U) << "stage is all ranks";
    EXPECT_EQ(trace["distributedInfo"]["pg_count"], 3);
    for (const json& kernel : of_category(trace, "kernel")) {
      if (kernel["args"]["op"] != 1) continue;
      const std::string number = std::to_string(rank + 1);
      EXPECT_EQ(kernel["args"]["Process Group Name"], number);
      EXPECT_EQ(kernel["args"]["Process Group Description"], "expert");
      EXPECT_EQ(kernel["args"]["Process Group Ranks"], "[" + std::to_string(rank) + "]");
      EXPECT_EQ(kernel["args"]["Group size"], 1);
      EXPECT_EQ(groups[static_cast<std::size_t>(rank) + 1]["pg_name"], number);
      EXPECT_EQ(groups[static_cast<std::size_t>(rank) + 1]["ranks"], json({rank}));
    }
  }
}

TEST_F(ExportKineto, RefusesAFolderThatCannotBeMade) {
  const TimelineInfo timeline = load_timeline(connection, sample.measured);
  std::ofstream(directory.file("taken")) << "a file";
  EXPECT_THROW(export_rank_traces(connection, timeline, directory.file("taken")), OutputError);
  EXPECT_THROW(export_rank_traces(connection, timeline, directory.file("none/here")), OutputError);
}

TEST_F(ExportKineto, RefusesAFolderWithFilesOfMoreRanks) {
  trace_of(0);
  EXPECT_NO_THROW(trace_of(1)) << "its own files are replaced";
  std::ofstream(directory.file("traces/rank-2.json")) << "{}";
  try {
    trace_of(0);
    ADD_FAILURE() << "a file of a third rank stays beside those of two";
  } catch (const OutputError& error) {
    EXPECT_EQ(error.exit_code, kExitWrongUse);
    EXPECT_EQ(error.what(),
              directory.file("traces/rank-2.json") +
                  ": is of another export, this one has 2 ranks: name another folder");
  }
}

TEST_F(ExportKineto, SplitsAnExchangeByTheTokensOfTheGates) {
  TimelineInfo timeline = load_timeline(connection, sample.measured);
  timeline.iteration = 1;
  // Each rank sends 100 + 200 tokens to rank 0 and 300 + 400 to rank 1.
  const ExchangeTokens tokens = exchange_tokens(connection, timeline, 2);
  ASSERT_TRUE(tokens.layers.contains(1));
  const Splits out = exchange_splits(tokens, 1, 0, 1400, false);
  EXPECT_EQ(out.sent, (std::vector<std::int64_t>{600, 1400}));
  EXPECT_EQ(out.received, (std::vector<std::int64_t>{600, 600}));
  const Splits back = exchange_splits(tokens, 1, 0, 600, true);
  EXPECT_EQ(back.sent, (std::vector<std::int64_t>{600, 600}));
  EXPECT_EQ(back.received, (std::vector<std::int64_t>{600, 1400}));
  EXPECT_TRUE(exchange_splits(tokens, 2, 0, 600, true).sent.empty());
  EXPECT_TRUE(exchange_tokens(connection, timeline, 5).layers.empty()) << "4 experts on 5 ranks";
}

TEST(CollectiveRanks, AreAllRanksWhereALayoutDividesOnce) {
  EXPECT_TRUE(divides_once("dp=1,ep=4,esp=1,tp=1"));
  EXPECT_TRUE(divides_once("dp=1,ep=1,esp=1,tp=1"));
  EXPECT_FALSE(divides_once("dp=2,ep=2,esp=1,tp=1"));
  EXPECT_FALSE(divides_once(""));
}

TEST_F(ExportKineto, PutsThePredictionBesideAMeasuredTimeline) {
  const auto predicted = prediction_beside(connection, load_timeline(connection, sample.measured));
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->id, sample.predicted);
  EXPECT_FALSE(prediction_beside(connection, *predicted));
}

}  // namespace
}  // namespace db::kineto_trace_test
