#include "viewer/panels/loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viewer/model/catalog.h"
#include "viewer/model/format.h"
#include "viewer/model/step_times.h"
#include "viewer/panels/balance_charts.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/rank_bars.h"
#include "viewer/panels/run_list.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/heat_map.h"

namespace viewer {

namespace {

constexpr double kPlayInterval_s = 0.1;
constexpr double kBrightest = 0.99;  // share of all entries that the shared scale tells apart
constexpr int kSpace = 32, kRight = 262, kLeft = 263;  // GLFW's codes
constexpr std::array kLoadsKeys = {
    KeyHelp{"Space, arrows", "play, step through the iterations"},
    KeyHelp{"click", "a chart of losses or steps: go to that iteration"},
    KeyHelp{"double click", "the chart of steps: show the nearest timeline"}};

/// The iterations to step through: those whose loads are stored, or else all.
const std::vector<int>& shown_iterations(const RunData& run) {
  return run.loads.empty() ? run.balances.iterations : run.loads.iterations;
}

const std::vector<int>& shown_layers(const RunData& run) {
  return run.loads.empty() ? run.balances.layers : run.loads.layers;
}

/// What was kept, or what was asked for where that is wanted and known.
const LoadTable& shown_loads(const LoadPanel& panel, const RunData& run) {
  return panel.asked && !run.asked.empty() ? run.asked : run.loads;
}

void rescale(LoadPanel& panel, const RunData& run) {
  panel.bright = shown_loads(panel, run).quantile(kBrightest);
  panel.open_ended = shown_loads(panel, run).quantile(1) > panel.bright;
}

// The place among the shown layers of the one that is least even in an iteration, which is what
// people look for; the first where nothing tells.
std::size_t hottest_layer(const RunData& run, int iteration) {
  const std::vector<int>&iterations = run.balances.iterations, &layers = shown_layers(run);
  const auto at = std::find(iterations.begin(), iterations.end(), iteration);
  if (at == iterations.end()) return 0;
  const db::BalanceOverview* worst =
      least_even(run.balances, static_cast<std::size_t>(at - iterations.begin()));
  if (worst == nullptr) return 0;
  const auto layer = std::find(layers.begin(), layers.end(), worst->layer);
  return layer == layers.end() ? 0 : static_cast<std::size_t>(layer - layers.begin());
}

void choose_layer(LoadPanel& panel, std::size_t layer) {
  panel.layer = layer;
  panel.is_layer_chosen = true;
}

void refresh(LoadPanel& panel, const RunData& run) {
  const std::size_t iterations = shown_iterations(run).size(), layers = shown_layers(run).size();
  if (panel.shown_run == run.run_id && panel.shown_iterations == iterations) return;
  panel.shown_run = run.run_id;
  panel.shown_iterations = iterations;
  panel.playing = false;
  panel.iteration = iterations == 0 ? 0 : iterations - 1;
  if (!panel.is_layer_chosen && iterations > 0) {
    panel.layer = hottest_layer(run, shown_iterations(run)[panel.iteration]);
  }
  if (layers > 0) panel.layer = std::min(panel.layer, layers - 1);
  rescale(panel, run);
}

LoadFocus focus_of(const LoadPanel& panel, const RunData& run) {
  return {shown_iterations(run)[panel.iteration], shown_layers(run)[panel.layer]};
}

void step(LoadPanel& panel) {
  const ImGuiIO& io = ImGui::GetIO();
  const std::size_t last = panel.shown_iterations - 1;
  if (!io.WantTextInput) {
    if (ImGui::IsKeyPressed(kSpace, false)) panel.playing = !panel.playing;
    if (ImGui::IsKeyPressed(kRight, true)) panel.iteration = std::min(panel.iteration + 1, last);
    if (ImGui::IsKeyPressed(kLeft, true) && panel.iteration > 0) --panel.iteration;
  }
  if (!panel.playing) return;
  panel.until_next_s -= io.DeltaTime;
  if (panel.until_next_s > 0) return;
  panel.until_next_s = kPlayInterval_s;
  panel.iteration = panel.iteration >= last ? 0 : panel.iteration + 1;
}

void draw_play_button(LoadPanel& panel) {
  const float size = ImGui::GetFrameHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (ImGui::Button("##play", {size * 1.3F, size})) panel.playing = !panel.playing;
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("play (space); left and right step");
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const ImVec2 middle{at.x + size * 0.65F, at.y + size * 0.5F};
  const float r = size * 0.22F;
  const ImU32 color = to_u32(theme::kText);
  if (panel.playing) {
    draw.AddRectFilled({middle.x - r, middle.y - r}, {middle.x - r * 0.3F, middle.y + r}, color);
    draw.AddRectFilled({middle.x + r * 0.3F, middle.y - r}, {middle.x + r, middle.y + r}, color);
  } else {
    draw.AddTriangleFilled({middle.x - r * 0.8F, middle.y - r}, {middle.x + r, middle.y},
                           {middle.x - r * 0.8F, middle.y + r}, color);
  }
}

void draw_controls(LoadPanel& panel, const RunData& run, const std::string& whose) {
  const std::vector<int>&iterations = shown_iterations(run), &layers = shown_layers(run);
  const float em = ImGui::GetFontSize();
  constexpr const char* kScale = "one colour scale";
  constexpr const char* kAsked = "asked for";
  // The slider gets the width that the other controls leave.
  const float beside = ImGui::CalcTextSize("iteration layer").x + ImGui::CalcTextSize(kScale).x +
                       ImGui::CalcTextSize(kAsked).x + ImGui::CalcTextSize(whose.c_str()).x +
                       em * 18.5F + ImGui::GetFrameHeight() * 3.5F;
  const float slider = std::clamp(ImGui::GetContentRegionAvail().x - beside, em * 6, em * 28);
  draw_play_button(panel);
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("iteration");
  ImGui::SameLine();
  int iteration = static_cast<int>(panel.iteration);
  ImGui::SetNextItemWidth(slider);
  const std::string shown = fmt::format("{} of {}", iterations[panel.iteration], iterations.back());
  ImGui::SliderInt("##iteration", &iteration, 0, static_cast<int>(iterations.size()) - 1,
                   shown.c_str());
  panel.iteration =
      static_cast<std::size_t>(std::clamp(iteration, 0, static_cast<int>(iterations.size()) - 1));
  ImGui::SameLine(0, em * 1.5F);
  ImGui::TextUnformatted("layer");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(em * 6);
  if (ImGui::BeginCombo("##layer", std::to_string(layers[panel.layer]).c_str())) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (ImGui::Selectable(std::to_string(layers[l]).c_str(), l == panel.layer)) {
        choose_layer(panel, l);
      }
    }
    ImGui::EndCombo();
  }
  if (!run.loads.empty()) {
    ImGui::SameLine(0, em * 1.5F);
    ImGui::Checkbox(kScale, &panel.shared_scale);
    if (!run.asked.empty()) {
      ImGui::SameLine(0, em * 1.5F);
      if (ImGui::Checkbox(kAsked, &panel.asked)) rescale(panel, run);
      if (ImGui::IsItemHovered()) {
        ImGui::SetTooltip("what the gates asked for, before tokens over capacity were dropped");
      }
    }
  }
  if (whose.empty()) return;
  ImGui::SameLine(0, em * 1.5F);
  ImGui::TextDisabled("%s", whose.c_str());
}

// The value at the bright end of the colours. A few loads tower above all others (those of the
// first iterations, before the gate has learnt to balance). They share the brightest colour, so
// that the rest is not all dark.
double scale_of(const LoadPanel& panel, const LoadTable& table) {
  std::int64_t most = panel.bright;
  if (!panel.shared_scale) {
    most = 0;
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      for (int e = 0; e < table.experts; ++e) {
        most = std::max(most, table.at(panel.iteration, l, static_cast<std::size_t>(e)));
      }
    }
  }
  return std::max(1.0, static_cast<double>(most));
}

void cell_tooltip(const LoadTable& table, std::size_t iteration, std::size_t layer, int expert) {
  const auto tokens =
      static_cast<double>(table.at(iteration, layer, static_cast<std::size_t>(expert)));
  const double mean = mean_tokens(table, iteration, layer);
  ImGui::SetTooltip("iteration %d, layer %d, expert %d\n%s tokens, %.2f times the mean of %s",
                    table.iterations[iteration], table.layers[layer], expert,
                    grouped(tokens, 0).c_str(), mean > 0 ? tokens / mean : 0,
                    grouped(mean, 1).c_str());
}

const char* asked_text(const LoadPanel& panel, const RunData& run) {
  return panel.asked && !run.asked.empty() ? "asked for " : "";
}

void draw_layer_map(LoadPanel& panel, const Fonts& fonts, const RunData& run, double most,
                    Rect area) {
  const LoadTable& table = shown_loads(panel, run);
  HeatMap map;
  map.title = fmt::format("Tokens {}per layer and expert, iteration {}", asked_text(panel, run),
                          table.iterations[panel.iteration]);
  map.x_label = "expert";
  map.y_label = "layer";
  map.rows = table.layers.size();
  map.columns = static_cast<std::size_t>(table.experts);
  map.value = [&](std::size_t row, std::size_t column) {
    return static_cast<double>(table.at(panel.iteration, row, column));
  };
  map.row_name = [&](std::size_t row) { return std::to_string(table.layers[row]); };
  map.column_name = [](std::size_t column) { return std::to_string(column); };
  map.most = most;
  map.marked_row = static_cast<int>(panel.layer);
  const HeatMapCell cell = draw_heat_map(fonts, map, area);
  if (cell.row < 0) return;
  const auto layer = static_cast<std::size_t>(cell.row);
  cell_tooltip(table, panel.iteration, layer, cell.column);
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) choose_layer(panel, layer);
}

void draw_iteration_map(LoadPanel& panel, const Fonts& fonts, const RunData& run, double most,
                        Rect area) {
  const LoadTable& table = shown_loads(panel, run);
  HeatMap map;
  map.title = fmt::format("Tokens {}per iteration and expert, layer {}", asked_text(panel, run),
                          table.layers[panel.layer]);
  map.x_label = "expert";
  map.y_label = "iteration";
  map.rows = table.iterations.size();
  map.columns = static_cast<std::size_t>(table.experts);
  map.value = [&](std::size_t row, std::size_t column) {
    return static_cast<double>(table.at(row, panel.layer, column));
  };
  map.row_name = [&](std::size_t row) { return std::to_string(table.iterations[row]); };
  map.column_name = [](std::size_t column) { return std::to_string(column); };
  map.most = most;
  map.marked_row = static_cast<int>(panel.iteration);
  const HeatMapCell cell = draw_heat_map(fonts, map, area);
  if (cell.row < 0) return;
  const auto iteration = static_cast<std::size_t>(cell.row);
  cell_tooltip(table, iteration, panel.layer, cell.column);
  if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) panel.iteration = iteration;
}

// The number of an ascending list that is nearest to `value`; 0 for an empty list.
std::size_t nearest_place(const std::vector<int>& ascending, double value) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    if (std::abs(ascending[i] - value) < std::abs(ascending[best] - value)) best = i;
  }
  return best;
}

// A click on a chart over iterations goes to the nearest one whose loads are shown.
void go_to(LoadPanel& panel, const RunData& run, const std::optional<double>& pointed) {
  if (!pointed || panel.shown_iterations == 0) return;
  if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;
  panel.iteration = nearest_place(shown_iterations(run), *pointed);
}

void draw_loss_chart(LoadPanel& panel, const Fonts& fonts, const RunData& run, Rect area) {
  LineChart chart;
  chart.title = "Loss, nats per token";
  chart.x_label = "iteration";
  chart.empty_text = "this run recorded no losses";
  Series training{"training", theme::kAccent, {}, {}, false};
  Series heldout{"held-out", theme::kWarning, {}, {}, true};
  for (const auto* iterations : {&run.before, &run.iterations}) {
    for (const db::Iteration& iteration : *iterations) {
      training.x.push_back(iteration.iteration);
      training.y.push_back(iteration.loss);
      if (!iteration.heldout_loss) continue;
      heldout.x.push_back(iteration.iteration);
      heldout.y.push_back(*iteration.heldout_loss);
    }
  }
  if (!training.x.empty()) chart.series.push_back(std::move(training));
  if (!heldout.x.empty()) chart.series.push_back(std::move(heldout));
  if (panel.shown_iterations > 0) {
    chart.mark = true;
    chart.marked_x = shown_iterations(run)[panel.iteration];
  }
  go_to(panel, run, draw_line_chart(fonts, chart, area));
}

Series step_series(const char* name, Color color, const std::vector<db::Iteration>& iterations) {
  Series series{name, color, {}, {}, false};
  for (const db::Iteration& iteration : iterations) {
    series.x.push_back(iteration.iteration);
    series.y.push_back(iteration.duration_s * 1e3);
  }
  return series;
}

// Dots at some of the iterations.
Series dots_at(const char* name, Color color, const std::vector<db::Iteration>& iterations,
               const std::vector<int>& marked) {
  Series series{name, color, {}, {}, true};
  for (const db::Iteration& iteration : iterations) {
    if (std::find(marked.begin(), marked.end(), iteration.iteration) == marked.end()) continue;
    series.x.push_back(iteration.iteration);
    series.y.push_back(iteration.duration_s * 1e3);
  }
  return series;
}

// Titled with the median and the range that holds nine steps of ten. A double click asks for the
// nearest timeline.
void draw_step_chart(LoadPanel& panel, const Fonts& fonts, const RunData& run,
                     const std::vector<int>& with_timeline, Rect area) {
  const StepTimes times = step_times(run.iterations);
  LineChart chart;
  const auto ms = [](double seconds) { return grouped(seconds * 1e3, seconds < 0.1 ? 1 : 0); };
  chart.title = "Step";
  if (!run.iterations.empty()) {
    chart.title += fmt::format(" {} ms", ms(times.median_s));
    const std::string range = fmt::format(" ({} to {})", ms(times.p5_s), ms(times.p95_s));
    if (text_width(*fonts.bold, chart.title + range) <= area.width()) chart.title += range;
  }
  chart.x_label = "iteration";
  chart.empty_text = "this run recorded no steps";
  chart.series.push_back(step_series("other repeats", theme::kMuted, median_steps(run.repeats)));
  chart.series.push_back(step_series("runs before", theme::kMuted, run.before));
  chart.series.push_back(step_series("this run", theme::kAccent, run.iterations));
  chart.series.push_back(dots_at("new schedule", theme::kWarning, run.iterations, times.changes));
  chart.series.push_back(dots_at("timeline", theme::kGood, run.iterations, with_timeline));
  std::erase_if(chart.series, [](const Series& series) { return series.x.empty(); });
  if (panel.shown_iterations > 0) {
    chart.mark = true;
    chart.marked_x = shown_iterations(run)[panel.iteration];
  }
  const std::optional<double> pointed = draw_line_chart(fonts, chart, area);
  go_to(panel, run, pointed);
  if (!pointed || with_timeline.empty()) return;
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    panel.asked_timeline = with_timeline[nearest_place(with_timeline, *pointed)];
  }
}

/// Heat maps of the loads side by side, and their colours.
void draw_maps(LoadPanel& panel, const Fonts& fonts, const RunData& run, Rect area) {
  const float em = fonts.text->FontSize, gap = em * 1.6F, bar = em * 6;
  const float map_px = (area.width() - bar - 2 * gap) / 2;
  const double most = scale_of(panel, shown_loads(panel, run));
  draw_layer_map(panel, fonts, run, most, {area.min, {area.min.x + map_px, area.max.y}});
  const float second = area.min.x + map_px + gap;
  draw_iteration_map(panel, fonts, run, most,
                     {{second, area.min.y}, {second + map_px, area.max.y}});
  const double mean = mean_tokens(shown_loads(panel, run), panel.iteration, panel.layer);
  draw_color_bar(fonts, {"tokens", most, mean, panel.shared_scale && panel.open_ended},
                 {{second + map_px + gap, area.min.y}, area.max});
}

void draw_charts(LoadPanel& panel, const Fonts& fonts, const RunData& run,
                 const std::vector<int>& with_timeline, Rect area) {
  constexpr float kChart = 0.2F;  // of the width; the rows of balance have the rest
  const float gap = fonts.text->FontSize * 1.2F;
  Rect place{area.min, {area.min.x + area.width() * kChart, area.max.y}};
  const auto next = [&] {
    const Rect now = place;
    place.min.x = now.max.x + gap;
    place.max.x = place.min.x + now.width();
    return now;
  };
  const LoadFocus focus = focus_of(panel, run);
  draw_imbalance_chart(fonts, run.balances, focus, next());
  const Rect second = next();
  const float half = (second.height() - gap) / 2;
  draw_locality_chart(fonts, run.balances, focus,
                      {second.min, {second.max.x, second.min.y + half}});
  draw_loss_chart(panel, fonts, run, {{second.min.x, second.max.y - half}, second.max});
  draw_step_chart(panel, fonts, run, with_timeline, next());
  Rect rows{place.min, area.max};
  const LayerRanks ranks = run.ranks.of(focus.iteration, focus.layer);
  if (!ranks.loads.empty()) {
    const float em = fonts.text->FontSize;
    const float lines = static_cast<float>(run.balances.layers.size()) * 1.45F + 3.2F;
    rows.max.y = rows.min.y + std::min(lines * em, rows.height() * 0.5F);
    draw_rank_bars(fonts, ranks, focus.layer, {{rows.min.x, rows.max.y + em * 0.8F}, area.max});
  }
  const int layer = draw_balance_rows(fonts, run.balances, focus, rows);
  const std::vector<int>& layers = shown_layers(run);
  const auto at = std::find(layers.begin(), layers.end(), layer);
  if (layer == focus.layer || at == layers.end()) return;
  choose_layer(panel, static_cast<std::size_t>(at - layers.begin()));
}

void note(const Fonts& fonts, ImVec2 at, const char* text) {
  draw_text(*ImGui::GetWindowDrawList(), *fonts.text, at.x, at.y, 0, theme::kMuted, text);
}

void draw_run(LoadPanel& panel, const Fonts& fonts, const RunData& run, std::int64_t selected_run,
              const std::vector<int>& with_timeline) {
  refresh(panel, run);
  const bool routed = panel.shown_iterations > 0;
  if (routed) {
    step(panel);
    const bool of_study = run.run_id != selected_run;
    draw_controls(panel, run, of_study ? fmt::format("of run {}", run.run_id) : "");
  }
  const float em = fonts.text->FontSize;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  Rect area{{corner.x, corner.y + em * 0.5F}, {corner.x + room.x, corner.y + room.y}};
  if (!routed) {
    note(fonts, {area.min.x, area.min.y + em},
         "This run recorded no expert loads. Pick a training run at the left.");
    if (!run.iterations.empty()) {
      const float middle = (area.min.x + area.max.x) / 2;
      draw_loss_chart(panel, fonts, run,
                      {{area.min.x, area.min.y + em * 3}, {middle - em, area.max.y}});
      draw_step_chart(panel, fonts, run, with_timeline,
                      {{middle + em, area.min.y + em * 3}, area.max});
    }
    return;
  }
  if (run.loads.empty()) {
    note(fonts, {area.min.x, area.min.y + em},
         "This run stored no loads of single experts: moe-train --loads-every stores them.");
    area.min.y += em * 3;
  } else {
    const float split_y = area.min.y + area.height() * 0.56F;
    draw_maps(panel, fonts, run, {area.min, {area.max.x, split_y}});
    area.min.y = split_y + em * 1.6F;
  }
  draw_charts(panel, fonts, run, with_timeline, area);
}

// The measured timeline of the asked iteration, above its prediction.
void show_asked_timeline(PanelContext& context) {
  Session& session = context.session;
  const std::optional<int> asked =
      std::exchange(context.states.of<LoadPanel>().asked_timeline, std::nullopt);
  if (!asked) return;
  for (const db::TimelineInfo& timeline : session.catalog.timelines) {
    const bool wanted = timeline.run_id == session.run.run_id && timeline.kind == db::kMeasured &&
                        timeline.iteration == *asked;
    if (!wanted) continue;
    session.stacked = {timeline.id};
    const db::TimelineInfo* beside = compared_with(session.catalog, timeline);
    if (beside != nullptr) session.stacked.push_back(beside->id);
    load_stack(session);
    context.next_panel = "timeline";
    return;
  }
}

void draw_loads(PanelContext& context, Rect area) {
  begin_fixed("loads", area);
  const Session& session = context.session;
  if (session.catalog.runs.empty()) {
    draw_no_runs();
  } else {
    draw_run(context.states.of<LoadPanel>(), context.fonts, session.run, session.selected_run,
             measured_iterations(session.catalog, session.run.run_id));
    show_asked_timeline(context);
  }
  ImGui::End();
}

bool is_playing(PanelStates& states) { return states.of<LoadPanel>().playing; }

}  // namespace

Panel loads_panel() {
  return {"loads", "Loads", SideList::runs, kLoadsKeys, draw_loads, is_playing};
}

}  // namespace viewer
