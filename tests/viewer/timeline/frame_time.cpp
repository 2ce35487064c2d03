// How long moe-view takes for many spans: until the first lanes are there and until all are, the
// memory that loading takes, and frames at every zoom with their slowest.
//     build/release/bin/frame_time                               # a million spans
//     MOE_VIEW_SPANS=10000000 build/release/bin/frame_time       # as many as are asked for
//     MOE_VIEW_RANKS=512 build/release/bin/frame_time            # on so many ranks, not on 32
// F5 in a database of one's own: MOE_VIEW_DATABASE=F frame_time --benchmark_filter=read_again
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "db/connection.h"
#include "db/statement.h"
#include "db/store.h"
#include "db/timeline/read_timeline.h"
#include "tests/viewer/headless.h"
#include "tests/viewer/synthetic_timeline.h"
#include "viewer/model/load.h"
#include "viewer/model/session.h"
#include "viewer/model/timeline_loader.h"
#include "viewer/timeline/rank_view.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kWidth = 1920, kHeight = 1080;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::size_t wanted_spans() {
  const char* given = std::getenv("MOE_VIEW_SPANS");
  return given == nullptr ? 1'000'000 : std::stoul(given);
}

int wanted_ranks() {
  const char* given = std::getenv("MOE_VIEW_RANKS");
  return given == nullptr ? 32 : std::stoi(given);
}

// Steps of all ranks one after the other.
SyntheticStep many_steps() {
  StepShape shape;
  shape.ranks = wanted_ranks();
  shape.layers = 8;
  shape.forward_chunks = shape.backward_chunks = 4;
  const SyntheticStep step = make_step(shape);
  SyntheticStep all;
  all.ops = step.ops;
  all.spans.reserve(wanted_spans() + step.spans.size());
  while (all.spans.size() < wanted_spans()) {
    for (db::Span span : step.spans) {
      span.start_s += all.duration_s;
      all.spans.push_back(span);
    }
    all.duration_s += step.duration_s;
  }
  return all;
}

// A database file with one timeline, which is removed at the end.
class Stored {
 public:
  Stored()
      : path_(std::filesystem::temp_directory_path() / ("frame_time_" + std::to_string(getpid()))) {
    db::Connection writer = db::open_writer(path_.string());
    const SyntheticStep steps = many_steps();
    info.kind = "imported";
    info.duration_s = steps.duration_s;
    info.id = db::insert(writer, info, steps.ops, steps.spans);
  }
  ~Stored() {
    for (const char* suffix : {"", "-wal", "-shm"})
      std::filesystem::remove(path_.string() + suffix);
  }
  std::string path() const { return path_.string(); }

  db::TimelineInfo info;

 private:
  std::filesystem::path path_;
};

const Stored& stored() {
  static const Stored stored;
  return stored;
}

// Of /proc/self/status, in bytes: "VmRSS:", "VmHWM:".
double memory(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    double kib = 0;
    if (name == wanted && status >> kib) return kib * 1024;
  }
  return 0;
}

// From the opened file on. The first lanes are there when the first rank has been delivered.
void load(benchmark::State& state) {
  const db::Connection connection = db::open_reader(stored().path());
  double first_s = 0, all_s = 0, peak_bytes = 0, spans = 1;
  for (auto _ : state) {
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak from here on
    const double before_bytes = memory("VmRSS:");
    const Clock::time_point begin = Clock::now();
    TimelineLoader loader(connection, stored().info);
    Timeline timeline = loader.begun();
    first_s = 0;
    while (!timeline.complete) {
      loader.wait(0.01);
      loader.deliver(timeline);
      if (first_s == 0 && timeline.spans > 0) first_s = seconds_since(begin);
    }
    all_s = seconds_since(begin);
    spans = static_cast<double>(timeline.spans);
    peak_bytes = memory("VmHWM:") - before_bytes;
  }
  state.counters["first_lanes_s"] = first_s;
  state.counters["all_lanes_s"] = all_s;
  state.counters["peak_bytes_per_span"] = peak_bytes / spans;
}
BENCHMARK(load)->Unit(benchmark::kMillisecond)->Iterations(3);

const Timeline& loaded() {
  static const Timeline timeline = read_timeline(db::open_reader(stored().path()), stored().info);
  return timeline;
}

/// Draws frames and keeps the slowest. ImGui's clock stands still: nothing is animated.
struct Frames {
  std::vector<StackEntry> stack = {{&loaded(), "many", "", ""}};
  Headless headless;
  TimelinePanel panel;
  double slowest_s = 0;

  explicit Frames(bool by_node = false) {
    ImGui::GetIO().DisplaySize = {kWidth, kHeight};
    panel.ranks.is_by_node_chosen = true;
    panel.ranks.choice.by_node = by_node;
  }

  void draw() {
    const Clock::time_point begin = Clock::now();
    headless.frame([&] {
      ImGui::SetNextWindowPos({0, 0});
      ImGui::SetNextWindowSize({kWidth, kHeight});
      ImGui::Begin("test", nullptr, ImGuiWindowFlags_NoDecoration);
      panel.is_due = panel.is_index_stopped = false;
      choose_rows(panel, stack);
      draw_timelines(panel, headless.fonts, stack, {{0, 0}, {kWidth, kHeight}});
      ImGui::End();
    });
    slowest_s = std::max(slowest_s, seconds_since(begin));
  }
  void report(benchmark::State& state) const { state.counters["slowest_ms"] = slowest_s * 1e3; }
};

// With the statistics and the styles of all ops, which later frames keep.
void first_frame(benchmark::State& state) {
  Frames frames;
  for (auto _ : state) {
    frames.panel = {};
    frames.draw();
  }
  frames.report(state);
}
BENCHMARK(first_frame)->Unit(benchmark::kMillisecond);

// Of a view of 1 / state.range(0) of the timeline, which pans by a pixel at each frame.
void pan(benchmark::State& state, bool by_node) {
  Frames frames(by_node);
  frames.draw();
  frames.slowest_s = 0;
  const double end_s = loaded().extent.end_s;
  const double length_s = 0.7 * end_s / static_cast<double>(state.range(0));
  double begin_s = 0.3 * end_s;
  for (auto _ : state) {
    frames.panel.view = {begin_s, begin_s + length_s};
    begin_s += length_s / kWidth;
    frames.draw();
  }
  frames.report(state);
}

void frame(benchmark::State& state) { pan(state, false); }
BENCHMARK(frame)->ArgName("zoom")->RangeMultiplier(10)->Range(1, 10'000)->Unit(
    benchmark::kMillisecond);

// With a band for each node.
void node_frame(benchmark::State& state) { pan(state, true); }
BENCHMARK(node_frame)
    ->ArgName("zoom")
    ->RangeMultiplier(10)
    ->Range(1, 10'000)
    ->Unit(benchmark::kMillisecond);

// From a new zoom on until the bands in sight are complete, in frames.
void node_bands(benchmark::State& state) {
  Frames frames(true);
  frames.draw();
  frames.slowest_s = 0;
  const double end_s = loaded().extent.end_s;
  double share = 1, drawn = 0, all_s = 0;
  for (auto _ : state) {
    share = share < 1e-3 ? 1 : share * 0.7;
    frames.panel.view = {0.3 * end_s, (0.3 + 0.7 * share) * end_s};
    const Clock::time_point begin = Clock::now();
    do {
      frames.draw();
      ++drawn;
    } while (frames.panel.is_due);
    all_s = std::max(all_s, seconds_since(begin));
  }
  state.counters["frames"] = drawn / static_cast<double>(state.iterations());
  state.counters["longest_s"] = all_s;
  frames.report(state);
}
BENCHMARK(node_bands)->Unit(benchmark::kMillisecond)->Iterations(20);

// From a click on a span until its causes are known: the first needs the index of all spans.
void first_click(benchmark::State& state) {
  double drawn = 0;
  double slowest_s = 0;
  for (auto _ : state) {
    Frames frames;
    frames.draw();
    frames.slowest_s = 0;
    frames.panel.selected = StackPosition{0, {0, 0}};
    do {
      frames.draw();
      ++drawn;
    } while (!frames.panel.memo.has(Question::selected, frames.stack[0].timeline->info.id));
    slowest_s = std::max(slowest_s, frames.slowest_s);
  }
  state.counters["frames"] = drawn / static_cast<double>(state.iterations());
  state.counters["slowest_ms"] = slowest_s * 1e3;
}
BENCHMARK(first_click)->Unit(benchmark::kMillisecond)->Iterations(3);

// While a range is being marked, its figures follow.
void mark_range(benchmark::State& state) {
  Frames frames;
  frames.draw();
  frames.slowest_s = 0;
  const double end_s = loaded().extent.end_s;
  double marked_s = 0.1 * end_s;
  for (auto _ : state) {
    frames.panel.range = TimeRange{0.1 * end_s, marked_s};
    marked_s = marked_s < 0.9 * end_s ? marked_s + 0.01 * end_s : 0.11 * end_s;
    frames.draw();
  }
  frames.report(state);
}
BENCHMARK(mark_range)->Unit(benchmark::kMillisecond);

// Esc gives up a marked range and a selected span: the figures of all of it are drawn again.
void escape(benchmark::State& state) {
  constexpr int kEscape = 256;  // GLFW's code
  Frames frames;
  frames.draw();
  const double end_s = loaded().extent.end_s;
  double slowest_s = 0;
  for (auto _ : state) {
    state.PauseTiming();
    frames.panel.range = TimeRange{0.1 * end_s, 0.6 * end_s};
    frames.panel.selected = StackPosition{0, {0, 0}};
    frames.draw();
    state.ResumeTiming();
    frames.slowest_s = 0;
    ImGui::GetIO().KeysDown[kEscape] = true;
    frames.draw();
    ImGui::GetIO().KeysDown[kEscape] = false;
    frames.draw();
    slowest_s = std::max(slowest_s, frames.slowest_s);
    if (frames.panel.range || frames.panel.selected) state.SkipWithError("Esc gave up nothing");
  }
  state.counters["slowest_ms"] = slowest_s * 1e3;
}
BENCHMARK(escape)->Unit(benchmark::kMillisecond);

/// The window's session on a file; frames are drawn while its timelines are read.
struct OpenSession {
  db::Connection connection;
  Session session;
  Headless headless;
  TimelinePanel panel;
  int changes = -1;
  double slowest_s = 0;

  explicit OpenSession(const std::string& path, std::vector<std::int64_t> timelines)
      : connection(db::open_reader(path)),
        session(open_session(connection, {{}, std::move(timelines)}, true)) {
    ImGui::GetIO().DisplaySize = {kWidth, kHeight};
  }

  std::vector<StackEntry> stack() const {
    std::vector<StackEntry> entries;
    for (const std::int64_t id : session.stacked) {
      const auto found = session.timelines.find(id);
      if (found != session.timelines.end()) entries.push_back({&found->second, "many", "", ""});
    }
    return entries;
  }
  // A frame, with what came from the loaders before it. `before` belongs to the frame.
  void draw(const std::function<void()>& before = [] {}) {
    const Clock::time_point begin = Clock::now();
    before();
    deliver(session);
    std::vector<StackEntry> entries = stack();
    const int now = session.arrivals + session.stack_changes;
    if (std::exchange(changes, now) != now) panel = {};  // as the window forgets its figures
    headless.frame([&] {
      ImGui::SetNextWindowPos({0, 0});
      ImGui::SetNextWindowSize({kWidth, kHeight});
      ImGui::Begin("test", nullptr, ImGuiWindowFlags_NoDecoration);
      panel.is_due = panel.is_index_stopped = false;
      if (stack_extent(entries).length_s() > 0) {
        choose_rows(panel, entries);
        draw_timelines(panel, headless.fonts, entries, {{0, 0}, {kWidth, kHeight}});
      }
      ImGui::End();
    });
    slowest_s = std::max(slowest_s, seconds_since(begin));
  }
  void draw_until_complete() {
    do draw();
    while (!session.loaders.empty());
  }
};

// F5: the database is read again. Where the shown timeline has changed (state.range(0)), it is
// loaded anew beside the frames. A file that is given is only read.
void read_again(benchmark::State& state) {
  const char* given = std::getenv("MOE_VIEW_DATABASE");
  const bool is_changed = state.range(0) == 1;
  if (given != nullptr && is_changed) {
    state.SkipWithError("a database that is given is not changed");
    return;
  }
  OpenSession open(given != nullptr ? given : stored().path(),
                   given != nullptr ? std::vector<std::int64_t>{} : std::vector{stored().info.id});
  open.draw_until_complete();
  double slowest_s = 0, first_s = 0, all_s = 0;
  int label = 0;
  for (auto _ : state) {
    state.PauseTiming();
    if (is_changed) {
      const db::Connection writer = db::open_writer(stored().path());
      db::Statement(writer, "UPDATE timeline SET label = 'again " + std::to_string(++label) + "'")
          .run();
    }
    open.slowest_s = 0;
    state.ResumeTiming();
    const Clock::time_point begin = Clock::now();
    open.draw([&] { reload(open.session); });
    first_s = std::max(first_s, open.slowest_s);
    open.draw_until_complete();
    all_s = std::max(all_s, seconds_since(begin));
    slowest_s = std::max(slowest_s, open.slowest_s);
  }
  state.counters["slowest_ms"] = slowest_s * 1e3;
  state.counters["first_ms"] = first_s * 1e3;  // the frame that reads again
  state.counters["longest_s"] = all_s;
}
BENCHMARK(read_again)
    ->ArgName("changed")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace viewer

BENCHMARK_MAIN();
