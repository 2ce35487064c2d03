// How long moe-view takes for a million spans: to sort them into lanes, and to draw frames.
//     build/release/bin/frame_time
#include <benchmark/benchmark.h>

#include "tests/viewer/headless.h"
#include "tests/viewer/synthetic_timeline.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {
namespace {

constexpr std::size_t kSpans = 1'000'000;

// Steps one after the other.
const SyntheticStep& many_steps() {
  static const SyntheticStep steps = [] {
    StepShape shape;
    shape.layers = 8;
    shape.forward_chunks = shape.backward_chunks = 4;
    const SyntheticStep step = make_step(shape);
    SyntheticStep all{step.ops, {}, 0};
    while (all.spans.size() < kSpans) {
      for (db::Span span : step.spans) {
        span.start_s += all.duration_s;
        all.spans.push_back(span);
      }
      all.duration_s += step.duration_s;
    }
    return all;
  }();
  return steps;
}

void sort_into_lanes(benchmark::State& state) {
  const SyntheticStep& steps = many_steps();
  for (auto _ : state) {
    benchmark::DoNotOptimize(build_timeline({}, steps.ops, steps.spans));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(steps.spans.size()));
}
BENCHMARK(sort_into_lanes)->Unit(benchmark::kMillisecond);

void draw(Headless& headless, TimelinePanel& panel, const std::vector<StackEntry>& stack) {
  headless.frame([&] {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({1600, 900});
    ImGui::Begin("test", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_timelines(panel, headless.fonts, stack, {{0, 0}, {1600, 900}});
    ImGui::End();
  });
}

// With the statistics and the styles of all ops, which later frames keep.
void first_frame(benchmark::State& state) {
  const Timeline timeline = build_timeline({}, many_steps().ops, many_steps().spans);
  const std::vector<StackEntry> stack = {{&timeline, "a million", "", ""}};
  Headless headless;
  for (auto _ : state) {
    TimelinePanel panel;
    draw(headless, panel, stack);
  }
}
BENCHMARK(first_frame)->Unit(benchmark::kMillisecond);

// Of a view of 1 / state.range(0) of the timeline.
void frame(benchmark::State& state) {
  const Timeline timeline = build_timeline({}, many_steps().ops, many_steps().spans);
  const std::vector<StackEntry> stack = {{&timeline, "a million", "", ""}};
  Headless headless;
  TimelinePanel panel;
  draw(headless, panel, stack);
  const double end_s = timeline.extent.end_s;
  panel.view = {0.3 * end_s, (0.3 + 0.7 / static_cast<double>(state.range(0))) * end_s};
  for (auto _ : state) draw(headless, panel, stack);
}
BENCHMARK(frame)->ArgName("zoom")->RangeMultiplier(10)->Range(1, 10'000)->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace viewer
