#include "db/trace_counters.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "db/export_trace.h"
#include "db/load.h"
#include "db/trace_arrows.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::trace_counters_test {
namespace {

class TraceCounters : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
  TimelineTracks tracks = load_tracks(connection, load_timeline(connection, sample.measured));
};

TEST_F(TraceCounters, FollowTheBytesUnderWayAndWhatIsExposed) {
  std::vector<TrackSpan> spans;
  for (const Track& track : tracks.tracks) {
    if (track.rank == 0) spans.insert(spans.end(), track.spans.begin(), track.spans.end());
  }
  // The gate until 1 ms, the dispatch of 4 MB until 5 ms, the experts until 7 ms.
  EXPECT_EQ(
      counter_samples(spans),
      (std::vector<CounterSample>{{0, 0, false}, {1000000, 4000000, true}, {5000000, 0, false}}));
}

TEST_F(TraceCounters, OfAnOverlapAreNotExposed) {
  TimelineOp compute, send;
  compute.activity = "computation", send.activity = "communication";
  const Span none = make_span(0, 0, 0, 0), message = make_span(0, 1, 0, 0, 8);
  const std::vector<TrackSpan> spans{{&none, &compute, {0, 10}}, {&message, &send, {4, 12}}};
  EXPECT_EQ(
      counter_samples(spans),
      (std::vector<CounterSample>{{0, 0, false}, {4, 8, false}, {10, 8, true}, {12, 0, false}}));
}

TEST_F(TraceCounters, FollowTheMemoryInUse) {
  const TimelineMemory memory{
      {{0, 0, "weights", "parameter", "device"}, {0, 1, "sent", "activation", "device"}},
      {{0, 1, 0, 0, 100}, {0, 1, 1, 100, 40, 1, 1, 0.002, 0.005}}};
  Timeline timeline;
  timeline.kind = "imported";
  const std::int64_t id =
      insert(connection, timeline, sample_ops(), sample_spans(), {}, {}, memory);
  const std::vector<MemorySample> samples = memory_samples(connection, id);
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples[1].rank, 1);
  EXPECT_EQ(samples[1].at_ns, 2000000);
  EXPECT_EQ(samples[1].bytes, 140);
  EXPECT_EQ(samples[2].bytes, 100);
  EXPECT_EQ(samples[3].bytes, 0) << "the end";
  EXPECT_TRUE(memory_samples(connection, sample.measured).empty());
  TemporaryDirectory directory;
  const std::string file = directory.file("trace.json");
  export_trace(connection, std::vector<std::int64_t>{id}, file);
  int counted = 0;
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(file));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "memory in use") ++counted;
  }
  EXPECT_EQ(counted, 4);
}

TEST_F(TraceCounters, ArrowsLeadFromTheLastRankToThoseThatWaited) {
  const std::vector<Arrow> arrows = rendezvous_arrows(tracks);
  ASSERT_EQ(arrows.size(), 1U);
  EXPECT_EQ(arrows[0].from->rank, 1);
  EXPECT_EQ(arrows[0].to->rank, 0);
  EXPECT_EQ(arrows[0].at_ns, 2000000);
  EXPECT_EQ(arrows[0].op->name, "all_to_all dispatch");
}

TEST_F(TraceCounters, DependenciesLeadFromTheEndOfASpanToTheStartOnAnotherStream) {
  EXPECT_TRUE(load_dependencies(connection, sample.measured + 100).empty());
  // The dispatch waits for the gate, the experts wait for the dispatch and follow the gate.
  const std::vector<DependencyArrow> arrows =
      dependency_arrows(tracks, {{1, 0}, {2, 1}, {2, 0}, {9, 1}});
  ASSERT_EQ(arrows.size(), 4U) << "two on each of two ranks";
  EXPECT_EQ(arrows[0].from->name, "compute");
  EXPECT_EQ(arrows[0].to->name, "inter_node");
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
