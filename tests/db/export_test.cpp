#include "db/export.h"

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "db/check.h"
#include "db/console/output_error.h"
#include "db/load.h"
#include "db/timeline/chrome_trace.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::export_test {
namespace {

using nlohmann::json;

class ExportTrace : public testing::Test {
 protected:
  TemporaryDirectory directory;
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);

  json exported(const std::vector<std::int64_t>& timelines) {
    export_trace(connection, timelines, directory.file("t.json"));
    return json::parse(read_file(directory.file("t.json")));
  }
};

std::vector<json> events(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

TEST_F(ExportTrace, HasAnEventPerSpanInMicroseconds) {
  const auto trace = exported({sample.measured});
  const auto spans = events(trace, "X");
  ASSERT_EQ(spans.size(), 6U);
  const auto dispatch = *std::find_if(spans.begin(), spans.end(), [](const json& event) {
    return event["pid"] == 1 && event["args"]["op"] == 1;
  });
  EXPECT_EQ(dispatch["name"], "all_to_all dispatch");
  EXPECT_EQ(dispatch["ts"], 2000.0);
  EXPECT_EQ(dispatch["dur"], 3000.0);
  EXPECT_EQ(dispatch["args"]["layer"], 1);
  EXPECT_EQ(dispatch["args"]["phase"], "forward");
  EXPECT_EQ(dispatch["args"]["bytes"], 4000000);
  EXPECT_EQ(dispatch["args"]["Collective name"], "all_to_all");
}

TEST_F(ExportTrace, NeverReplacesTheDatabase) {
  const auto path = directory.file("a.db");
  auto stored = open_writer(path);
  const std::vector<std::int64_t> ids{store_sample(stored).measured};
  for (const char* suffix : {"", "-wal", "-shm"}) {
    EXPECT_THROW(export_trace(stored, ids, path + suffix), Error) << suffix;
  }
  EXPECT_TRUE(find_problems(stored, 60).empty());
}

TEST_F(ExportTrace, NamesRanksAndStreams) {
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::string> processes;
  for (const json& event : events(exported({sample.measured}), "M")) {
    if (event["name"] == "thread_name") {
      threads[{event["pid"], event["tid"]}] = event["args"]["name"];
    }
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  EXPECT_EQ((threads[{0, 0}]), "compute");
  EXPECT_EQ((threads[{1, 1}]), "inter_node");
}

TEST_F(ExportTrace, PutsTimelinesSideBySide) {
  const auto trace = exported({sample.measured, sample.predicted});
  std::map<int, int> spans;
  for (const json& event : events(trace, "X")) ++spans[event["pid"]];
  EXPECT_EQ(spans, (std::map<int, int>{{0, 3}, {1, 3}, {1000, 3}, {1001, 3}}));
}

TEST_F(ExportTrace, LeavesNothingBehindWhereItCannotWrite) {
  const std::vector<std::int64_t> ids{sample.measured};
  EXPECT_THROW(export_trace(connection, ids, directory.file("none/t.json")), OutputError);
  EXPECT_THROW(export_trace(connection, std::vector<std::int64_t>{99}, directory.file("t.json")),
               Error);
  std::filesystem::create_directory(directory.file("taken"));
  EXPECT_THROW(export_trace(connection, ids, directory.file("taken")), OutputError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST_F(ExportTrace, RunAloneMeansItsLastMeasuredIteration) {
  EXPECT_EQ(default_timeline(connection, sample.run).id, sample.measured);
  TimelineInfo warming_up = load_timeline(connection, sample.measured);
  warming_up.id = 0;
  warming_up.iteration = 0;
  insert(connection, warming_up, {}, {});
  EXPECT_EQ(default_timeline(connection, sample.run).id, sample.measured) << "stored later";
  EXPECT_THROW(default_timeline(connection, 99), Error);
}

TEST_F(ExportTrace, WritesTheRoutingOfAnIteration) {
  export_routing(connection, sample.run, 1, directory.file("r.json"));
  EXPECT_EQ(json::parse(read_file(directory.file("r.json"))),
            json::parse(R"({"layers": [{"layer": 1,
                                        "tokens": [[100, 200, 300, 400], [100, 200, 300, 400]],
                                        "asked": [[100, 200, 300, 410], [100, 200, 300, 410]]}]})"));
  EXPECT_EQ(last_loads_iteration(connection, sample.run), 2);
  EXPECT_THROW(export_routing(connection, sample.run, 9, directory.file("r.json")), Error);
  EXPECT_THROW(last_loads_iteration(connection, 99), Error);
}

TEST_F(ExportTrace, RefusesARoutingOfMoreTokensThanWereAskedFor) {
  connection.database().exec("UPDATE load SET asked_tokens = 399 WHERE rank = 1 AND expert = 3");
  EXPECT_THROW(export_routing(connection, sample.run, 1, directory.file("r.json")), Error);
  EXPECT_FALSE(std::filesystem::exists(directory.file("r.json")));
}

TEST_F(ExportTrace, CountsTheRanksOfARoutingFromThoseOfTheLayersStage) {
  connection.database().exec("UPDATE run SET ranks = 4");
  std::vector<Load> loads;  // of a stage of ranks 2 and 3, in two micro-batches
  for (const int rank : {2, 3}) {
    for (const int micro_batch : {0, 1}) {
      for (const int expert : {0, 1}) {
        loads.push_back({sample.run, 5, 3, rank, expert, 100 * rank + 10 * micro_batch + expert,
                         std::nullopt, micro_batch});
      }
    }
  }
  insert(connection, loads);
  export_routing(connection, sample.run, 5, directory.file("r.json"));
  EXPECT_EQ(json::parse(read_file(directory.file("r.json"))),
            json::parse(R"({"layers": [{"layer": 3, "tokens": [[200, 201], [300, 301]]},
                                       {"layer": 3, "tokens": [[210, 211], [310, 311]],
                                        "micro_batch": 1}]})"));
}

}  // namespace
}  // namespace db::export_test
