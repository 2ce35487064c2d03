#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "tests/viewer/headless.h"
#include "tests/viewer/synthetic_timeline.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Steps one after the other until there are `least` spans.
SyntheticStep many_steps(std::size_t least) {
  StepShape shape;
  shape.layers = 8;
  shape.forward_chunks = shape.backward_chunks = 4;
  const SyntheticStep step = make_step(shape);
  SyntheticStep all{step.ops, {}, 0};
  while (all.spans.size() < least) {
    for (db::Span span : step.spans) {
      span.start_s += all.duration_s;
      all.spans.push_back(span);
    }
    all.duration_s += step.duration_s;
  }
  return all;
}

// Printed, not asserted: a shared machine keeps no time.
TEST(FrameTime, OfAMillionSpans) {
  const SyntheticStep steps = many_steps(1'000'000);
  auto begin = Clock::now();
  const Timeline timeline = build_timeline({}, steps.ops, steps.spans);
  std::printf("%zu spans in %zu lanes sorted into lanes in %.0f ms\n", timeline.spans,
              timeline.lanes.size(), milliseconds_since(begin));

  Headless headless;
  TimelinePanel panel;
  const std::vector<StackEntry> stack = {{&timeline, "a million", "", ""}};
  const auto draw = [&] {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({1600, 900});
    ImGui::Begin("test", nullptr, ImGuiWindowFlags_NoDecoration);
    draw_timelines(panel, headless.fonts, stack, {{0, 0}, {1600, 900}});
    ImGui::End();
  };
  begin = Clock::now();
  headless.frame(draw);
  std::printf("first frame, with the statistics: %.1f ms\n", milliseconds_since(begin));
  for (double shown = 1; shown > 1e-5; shown /= 10) {
    panel.view = {0.3 * timeline.extent.end_s, (0.3 + 0.7 * shown) * timeline.extent.end_s};
    constexpr int kFrames = 50;
    begin = Clock::now();
    for (int i = 0; i < kFrames; ++i) headless.frame(draw);
    std::printf("frame of %8.4f%% of it: %.2f ms\n", 70 * shown,
                milliseconds_since(begin) / kFrames);
  }
  EXPECT_GE(timeline.spans, 1'000'000U);
}

}  // namespace
}  // namespace viewer
