#include "viewer/model/timeline_loader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "db/error.h"
#include "db/load.h"
#include "db/store.h"
#include "db/timeline/read_timeline.h"
#include "tests/viewer/synthetic_timeline.h"
#include "viewer/model/load.h"
#include "viewer/model/session.h"

namespace viewer::timeline_loader_test {
namespace {

namespace fs = std::filesystem;

class TimelineLoaderTest : public ::testing::Test {
 protected:
  TimelineLoaderTest()
      : folder(fs::temp_directory_path() / ("moe_view_loader_" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    StepShape shape;
    shape.ranks = 7;
    shape.jitter = 0.1;
    const SyntheticStep step = make_step(shape);
    info.kind = "imported";
    info.duration_s = step.duration_s;
    db::Connection writer = db::open_writer(path());
    info.id = db::insert(writer, info, step.ops, step.spans, step.edges, step.groups);
  }
  ~TimelineLoaderTest() override { fs::remove_all(folder); }
  std::string path() const { return (folder / "results.db").string(); }

  fs::path folder;
  db::TimelineInfo info;
};

double waiting_s(const Lane& lane) {
  double sum_s = 0;
  for (const LaneSpan& span : lane.spans) sum_s += span.waiting_s;
  return sum_s;
}

void expect_same(const Timeline& a, const Timeline& b) {
  ASSERT_EQ(a.lanes.size(), b.lanes.size());
  EXPECT_EQ(a.spans, b.spans);
  EXPECT_EQ(a.extent, b.extent);
  for (std::size_t i = 0; i < a.lanes.size(); ++i) {
    EXPECT_EQ(a.lanes[i].rank, b.lanes[i].rank);
    EXPECT_EQ(a.lanes[i].stream, b.lanes[i].stream);
    EXPECT_EQ(a.lanes[i].busy_before_s, b.lanes[i].busy_before_s);
    EXPECT_EQ(waiting_s(a.lanes[i]), waiting_s(b.lanes[i]));
  }
  EXPECT_EQ(a.waits_for, b.waits_for);
  EXPECT_EQ(a.first_rank, b.first_rank);
}

TEST_F(TimelineLoaderTest, DeliversRanksInTheirOrderUntilTheTimelineIsComplete) {
  const db::Connection connection = db::open_reader(path());
  TimelineLoader loader(connection, info);
  Timeline timeline = loader.begun();
  EXPECT_FALSE(timeline.complete);
  EXPECT_EQ(timeline.extent, (TimeRange{0, info.duration_s}));
  while (!timeline.complete) {
    loader.wait(1);
    loader.deliver(timeline);
    for (std::size_t i = 1; i < timeline.lanes.size(); ++i) {
      EXPECT_LE(timeline.lanes[i - 1].rank, timeline.lanes[i].rank);
    }
  }
  expect_same(timeline, read_timeline(connection, info));
  EXPECT_FALSE(loader.deliver(timeline)) << "nothing is left";
}

TEST_F(TimelineLoaderTest, KnowsWhatOpsWaitForAndHowLongRanksWaited) {
  const db::Connection connection = db::open_reader(path());
  TimelineLoader loader(connection, info);
  Timeline timeline = loader.begun();
  EXPECT_EQ(timeline.waits_for.size(), timeline.ops.size());
  EXPECT_FALSE(timeline.first_rank.empty());
  double loaded_s = 0, stored_s = 0;
  while (!timeline.complete) {
    loader.wait(1);
    loader.deliver(timeline);
  }
  for (const Lane& lane : timeline.lanes) loaded_s += waiting_s(lane);
  for (const db::Span& span : db::load_spans(connection, info.id)) {
    stored_s += span.waiting_s.value_or(0);
  }
  EXPECT_GT(stored_s, 0);
  EXPECT_NEAR(loaded_s, stored_s, 1e-5 * stored_s);
}

TEST_F(TimelineLoaderTest, HasNoRanksToWaitForWhereThereAreNoSpans) {
  db::Connection writer = db::open_writer(path());
  db::TimelineInfo empty = info;
  empty.id = 0;
  empty.id = db::insert(writer, empty, {}, {});
  TimelineLoader loader(writer, empty);
  Timeline timeline = loader.begun();
  EXPECT_TRUE(loader.deliver(timeline));
  EXPECT_TRUE(timeline.complete);
}

TEST_F(TimelineLoaderTest, SaysWhenTheFileIsGone) {
  const db::Connection connection = db::open_reader(path());
  fs::remove_all(folder);
  TimelineLoader loader(connection, info);
  Timeline timeline = loader.begun();
  loader.wait(5);
  EXPECT_THROW(loader.deliver(timeline), db::Error);
}

/// A session that reads beside the frames, once its timeline has arrived.
Session loaded_session(const db::Connection& connection, std::int64_t timeline) {
  Start start;
  start.timelines = {timeline};
  Session session = open_session(connection, start, true);
  while (!session.loaders.empty()) deliver(session);
  return session;
}

TEST_F(TimelineLoaderTest, ASessionShowsWhatHasArrived) {
  const db::Connection connection = db::open_reader(path());
  Session session = loaded_session(connection, info.id);
  expect_same(session.timelines.at(info.id), read_timeline(connection, info));
  EXPECT_EQ(session.problem, "");
}

/// A training's measured timeline and its prediction, stored in the database at `path`.
std::pair<db::TimelineInfo, db::TimelineInfo> store_training(const std::string& path,
                                                             const db::TimelineInfo& info) {
  db::TimelineInfo measured = info, predicted = info;
  db::Connection writer = db::open_writer(path);
  db::Run run;
  run.kind = "train";
  run.ranks = 7;
  db::Machine machine;
  machine.fingerprint = machine.hostname = "box";
  run.machine_id = db::find_or_insert(writer, machine);
  measured.id = predicted.id = 0;
  measured.run_id = predicted.run_id = db::insert(writer, run);
  measured.kind = db::kMeasured, predicted.kind = db::kPredicted;
  StepShape shape;
  shape.ranks = 7;
  const SyntheticStep step = make_step(shape);
  measured.id = db::insert(writer, measured, step.ops, step.spans, step.edges, step.groups);
  predicted.id = db::insert(writer, predicted, step.ops, step.spans, step.edges, step.groups);
  return {measured, predicted};
}

TEST_F(TimelineLoaderTest, ASessionReadsWhatItsStackIsComparedWithBesideTheFrames) {
  const auto [measured, predicted] = store_training(path(), info);
  const db::Connection connection = db::open_reader(path());
  Session session = loaded_session(connection, measured.id);
  const int changes = session.stack_changes, arrivals = session.arrivals;
  const Timeline* beside = load_beside(session, measured);
  EXPECT_EQ(beside == nullptr, !session.loaders.empty());
  while (!session.loaders.empty()) deliver(session);
  beside = load_beside(session, measured);
  ASSERT_NE(beside, nullptr);
  expect_same(*beside, read_timeline(connection, predicted));
  EXPECT_EQ(session.stack_changes, changes) << "figures of the stack stay";
  EXPECT_EQ(session.arrivals, arrivals);
  session.stacked = {predicted.id};
  load_stack(session);
  while (!session.loaders.empty()) deliver(session);
  expect_same(session.timelines.at(predicted.id), read_timeline(connection, predicted));
  EXPECT_EQ(session.problem, "");
}

TEST_F(TimelineLoaderTest, ATimelineThatLeavesTheStackWhileItIsLoadedIsReadAnewBesideIt) {
  const auto [measured, predicted] = store_training(path(), info);
  const db::Connection connection = db::open_reader(path());
  Session session = loaded_session(connection, measured.id);
  // As where this machine is too slow to have it at once.
  auto loader = std::make_unique<TimelineLoader>(connection, predicted);
  session.timelines.insert_or_assign(predicted.id, loader->begun());
  session.loaders.insert_or_assign(predicted.id, std::move(loader));
  load_stack(session);
  while (!session.loaders.empty()) deliver(session);
  EXPECT_EQ(session.timelines.size(), 1U);
  while (load_beside(session, measured) == nullptr) deliver(session);
  expect_same(*load_beside(session, measured), read_timeline(connection, predicted));
  EXPECT_EQ(session.problem, "");
}

TEST_F(TimelineLoaderTest, ReadingAgainKeepsTimelinesThatHaveNotChanged) {
  db::Connection connection = db::open_writer(path());
  Start start;
  start.timelines = {info.id};
  Session session = open_session(connection, start);
  const Lane* before = session.timelines.at(info.id).lanes.data();
  reload(session);
  EXPECT_EQ(session.timelines.at(info.id).lanes.data(), before);
}

}  // namespace
}  // namespace viewer::timeline_loader_test
