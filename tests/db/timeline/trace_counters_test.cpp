#include "db/timeline/trace_counters.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/load.h"
#include "db/timeline/chrome_trace.h"
#include "db/timeline/read_timeline.h"
#include "db/timeline/trace_arrows.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"
#include "tests/db/timeline/lanes.h"

namespace db::trace_counters_test {
namespace {

class TraceCounters : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
  Timeline timeline = read_timeline(connection, load_timeline(connection, sample.measured));
  SpanIndex index = index_spans(timeline);
};

TEST_F(TraceCounters, FollowTheBytesUnderWayAndWhatIsExposed) {
  // The gate until 1 ms, the dispatch of 4 MB until 5 ms, the experts until 7 ms.
  EXPECT_EQ(
      counter_samples(timeline, timeline.ledgers[0]),
      (std::vector<CounterSample>{{0, 0, false}, {1000000, 4000000, true}, {5000000, 0, false}}));
}

TEST_F(TraceCounters, OfAnOverlapAreNotExposed) {
  const Timeline overlap =
      hand_timeline({{0, "compute", "linear", 0, 10e-9}, {0, "inter_node", "send", 4e-9, 12e-9}});
  EXPECT_EQ(counter_samples(overlap, overlap.ledgers[0]),
            (std::vector<CounterSample>{{0, 0, false}, {10, 0, true}, {12, 0, false}}));
}

TEST_F(TraceCounters, FollowTheMemoryInUse) {
  const TimelineMemory memory{
      {{0, 0, "weights", "parameter", "device"}, {0, 1, "sent", "activation", "device"}},
      {{0, 1, 0, 0, 100}, {0, 1, 1, 100, 40, 1, 1, 0.002, 0.005}}};
  TimelineInfo info;
  info.kind = "imported";
  const std::int64_t id = insert(connection, info, sample_ops(), sample_spans(), {}, {}, memory);
  TemporaryDirectory directory;
  const std::string file = directory.file("trace.json");
  export_trace(connection, std::vector<std::int64_t>{id}, file);
  const double end_s = read_timeline(connection, load_timeline(connection, id)).extent.end_s;
  std::vector<std::pair<double, int>> in_use;
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(file));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") != "memory in use") continue;
    in_use.emplace_back(event.at("ts"), event.at("args").at("value"));
    EXPECT_EQ(event.at("pid"), 1);
  }
  EXPECT_EQ(in_use, (std::vector<std::pair<double, int>>{
                        {0, 100}, {2000, 140}, {5000, 100}, {1e6 * end_s, 0}}));
}

TEST_F(TraceCounters, ArrowsLeadFromTheLastRankToThoseThatWaited) {
  EXPECT_TRUE(rendezvous_arrows(timeline, index, false).empty()) << "who takes part is not known";
  const std::vector<TraceArrow> arrows = rendezvous_arrows(timeline, index, true);
  ASSERT_EQ(arrows.size(), 1U);
  EXPECT_EQ(rank_at(timeline, arrows[0].from), 1);
  EXPECT_EQ(rank_at(timeline, arrows[0].to), 0);
  EXPECT_EQ(arrows[0].from_ns, 2000000);
  EXPECT_EQ(op_at(timeline, arrows[0].to).name, "all_to_all dispatch");
}

TEST_F(TraceCounters, DependenciesLeadFromTheEndOfASpanToTheStartOnAnotherStream) {
  EXPECT_TRUE(dependency_arrows(timeline, index).empty());
  // The dispatch waits for the gate, the experts wait for the dispatch and follow the gate.
  link_ops(timeline, {{0, 1, 0}, {0, 2, 1}, {0, 2, 0}, {0, 9, 1}}, {});
  const std::vector<TraceArrow> arrows = dependency_arrows(timeline, index);
  ASSERT_EQ(arrows.size(), 4U) << "two on each of two ranks";
  EXPECT_EQ(timeline.lanes[arrows[0].from.lane].stream, "compute");
  EXPECT_EQ(timeline.lanes[arrows[0].to.lane].stream, "inter_node");
  EXPECT_EQ(arrows[0].from_ns, 999999);
  EXPECT_EQ(arrows[0].to_ns, 1000000);
}

TEST_F(TraceCounters, AreInTheTraceWithTheArrowsAndThePredictionAsProcessesOfItsOwn) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> ids{sample.measured, sample.predicted};
  export_trace(connection, ids, directory.file("t.json"));
  const auto trace = nlohmann::json::parse(read_file(directory.file("t.json")));
  int counters = 0, begins = 0, ends = 0;
  std::set<std::string> processes;
  for (const auto& event : trace["traceEvents"]) {
    counters += event["ph"] == "C";
    begins += event["ph"] == "s";
    ends += event["ph"] == "f" && event["bp"] == "e";
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
  }
  EXPECT_GE(counters, 8);
  EXPECT_GE(begins, 1);
  EXPECT_EQ(begins, ends);
  EXPECT_EQ(processes.size(), 4U);
  EXPECT_TRUE(processes.contains("predicted " + std::to_string(sample.predicted) + ": rank 1"));
}

}  // namespace
}  // namespace db::trace_counters_test
