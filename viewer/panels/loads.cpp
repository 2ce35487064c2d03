#include "viewer/panels/loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "viewer/model/format.h"
#include "viewer/window/app.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/heat_map.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

constexpr double kPlayInterval_s = 0.1;
constexpr double kBrightest = 0.99;  // share of all entries that the shared scale tells apart
constexpr int kSpace = 32, kRight = 262, kLeft = 263;  // GLFW's codes
constexpr std::array kLoadsKeys = {KeyHelp{"Space, arrows", "play, step through the iterations"}};

void refresh(LoadPanel& panel, const RunData& run) {
  const LoadTable& table = run.loads;
  if (panel.shown_run == run.run_id &&
      panel.balances.size() == table.iterations.size() * table.layers.size()) {
    return;
  }
  panel.shown_run = run.run_id;
  panel.playing = false;
  panel.iteration = table.iterations.empty() ? 0 : table.iterations.size() - 1;
  panel.layer = std::min(panel.layer, table.layers.empty() ? 0 : table.layers.size() - 1);
  panel.bright = table.quantile(kBrightest);
  panel.open_ended = table.quantile(1) > panel.bright;
  panel.balances.clear();
  for (std::size_t i = 0; i < table.iterations.size(); ++i) {
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      panel.balances.push_back(balance(table, i, l));
    }
  }
}

const Balance& balance_at(const LoadPanel& panel, const LoadTable& table, std::size_t iteration,
                          std::size_t layer) {
  return panel.balances[iteration * table.layers.size() + layer];
}

void step(LoadPanel& panel, const LoadTable& table) {
  const ImGuiIO& io = ImGui::GetIO();
  const std::size_t last = table.iterations.size() - 1;
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

void draw_controls(LoadPanel& panel, const LoadTable& table, const std::string& whose) {
  const float em = ImGui::GetFontSize();
  constexpr const char* kScale = "one colour scale for all iterations";
  // What stands beside the slider; it has the rest.
  const float beside = ImGui::CalcTextSize("iteration layer").x + ImGui::CalcTextSize(kScale).x +
                       ImGui::CalcTextSize(whose.c_str()).x + em * 16.5F +
                       ImGui::GetFrameHeight() * 2.5F;
  const float slider = std::clamp(ImGui::GetContentRegionAvail().x - beside, em * 6, em * 28);
  draw_play_button(panel);
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("iteration");
  ImGui::SameLine();
  int iteration = static_cast<int>(panel.iteration);
  ImGui::SetNextItemWidth(slider);
  const std::string shown =
      fmt::format("{} of {}", table.iterations[panel.iteration], table.iterations.back());
  ImGui::SliderInt("##iteration", &iteration, 0, static_cast<int>(table.iterations.size()) - 1,
                   shown.c_str());
  panel.iteration = static_cast<std::size_t>(
      std::clamp(iteration, 0, static_cast<int>(table.iterations.size()) - 1));
  ImGui::SameLine(0, em * 1.5F);
  ImGui::TextUnformatted("layer");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(em * 6);
  if (ImGui::BeginCombo("##layer", std::to_string(table.layers[panel.layer]).c_str())) {
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      if (ImGui::Selectable(std::to_string(table.layers[l]).c_str(), l == panel.layer)) {
        panel.layer = l;
      }
    }
    ImGui::EndCombo();
  }
  ImGui::SameLine(0, em * 1.5F);
  ImGui::Checkbox(kScale, &panel.shared_scale);
  if (whose.empty()) return;
  ImGui::SameLine(0, em * 1.5F);
  ImGui::TextDisabled("%s", whose.c_str());
}

// The value at the bright end. Over all iterations the few that tower above the others (the first
// ones, before the gate has learnt to balance) would leave the rest dark: they share the brightest
// colour.
double scale_of(const LoadPanel& panel, const LoadTable& table) {
  std::int64_t most = panel.bright;
  if (!panel.shared_scale) {
    most = 0;
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      most = std::max(most, balance_at(panel, table, panel.iteration, l).most);
    }
  }
  return std::max(1.0, static_cast<double>(most));
}

void cell_tooltip(const LoadTable& table, std::size_t iteration, std::size_t layer, int expert,
                  const Balance& of) {
  const auto tokens =
      static_cast<double>(table.at(iteration, layer, static_cast<std::size_t>(expert)));
  ImGui::SetTooltip("iteration %d, layer %d, expert %d\n%s tokens, %.2f times the mean of %s",
                    table.iterations[iteration], table.layers[layer], expert,
                    grouped(tokens, 0).c_str(), of.mean > 0 ? tokens / of.mean : 0,
                    grouped(of.mean, 1).c_str());
}

void draw_layer_map(LoadPanel& panel, const Fonts& fonts, const LoadTable& table, double most,
                    Rect area) {
  HeatMap map;
  map.title =
      fmt::format("Tokens per layer and expert, iteration {}", table.iterations[panel.iteration]);
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
  cell_tooltip(table, panel.iteration, layer, cell.column,
               balance_at(panel, table, panel.iteration, layer));
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) panel.layer = layer;
}

void draw_iteration_map(LoadPanel& panel, const Fonts& fonts, const LoadTable& table, double most,
                        Rect area) {
  HeatMap map;
  map.title = fmt::format("Tokens per iteration and expert, layer {}", table.layers[panel.layer]);
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
  cell_tooltip(table, iteration, panel.layer, cell.column,
               balance_at(panel, table, iteration, panel.layer));
  if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) panel.iteration = iteration;
}

void draw_balance_table(LoadPanel& panel, const Fonts& fonts, const LoadTable& table, Rect area) {
  ImGui::SetCursorScreenPos(area.min);
  ImGui::BeginChild("balance", {area.width(), area.height()});
  ImGui::PushFont(fonts.bold);
  ImGui::Text("Balance, iteration %d", table.iterations[panel.iteration]);
  ImGui::PopFont();
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  constexpr std::array kNames = {"layer", "max", "max/mean", "unused", "tokens", "std. dev."};
  constexpr std::array kWeights = {0.7F, 0.8F, 1.3F, 1.0F, 1.0F, 1.2F};
  // A narrow table leaves the last ones out.
  const std::size_t columns = area.width() > fonts.text->FontSize * 22 ? kNames.size() : 4;
  if (ImGui::BeginTable("layers", static_cast<int>(columns), kFlags)) {
    ImGui::TableSetupScrollFreeze(0, 1);
    for (std::size_t i = 0; i < columns; ++i) ImGui::TableSetupColumn(kNames[i], 0, kWeights[i]);
    header_row(std::span(kNames).first(columns), 1);
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      const Balance& of = balance_at(panel, table, panel.iteration, l);
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (ImGui::Selectable(std::to_string(table.layers[l]).c_str(), l == panel.layer,
                            ImGuiSelectableFlags_SpanAllColumns)) {
        panel.layer = l;
      }
      figure_cell(grouped(static_cast<double>(of.most), 0));
      figure_cell(fmt::format("{:.3f}", of.max_over_mean));
      figure_cell(std::to_string(of.unused));
      if (columns < kNames.size()) continue;
      figure_cell(grouped(static_cast<double>(of.total), 0));
      figure_cell(grouped(of.deviation, 1));
    }
    ImGui::EndTable();
  }
  ImGui::EndChild();
}

void draw_balance_chart(const LoadPanel& panel, const Fonts& fonts, const LoadTable& table,
                        Rect area) {
  LineChart chart;
  chart.title = "Imbalance, max / mean";
  chart.x_label = "iteration";
  Series chosen{fmt::format("layer {}", table.layers[panel.layer]), theme::kAccent, {}, {}, false};
  Series worst{"worst layer", theme::kWarning, {}, {}, false};
  for (std::size_t i = 0; i < table.iterations.size(); ++i) {
    double most = 0;
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      most = std::max(most, balance_at(panel, table, i, l).max_over_mean);
    }
    chosen.x.push_back(table.iterations[i]);
    chosen.y.push_back(balance_at(panel, table, i, panel.layer).max_over_mean);
    worst.x.push_back(table.iterations[i]);
    worst.y.push_back(most);
  }
  if (table.layers.size() > 1) chart.series.push_back(std::move(worst));
  chart.series.push_back(std::move(chosen));
  chart.mark = true;
  chart.marked_x = table.iterations[panel.iteration];
  draw_line_chart(fonts, chart, area);
}

void draw_loss_chart(const LoadPanel& panel, const Fonts& fonts, const RunData& run, Rect area) {
  LineChart chart;
  chart.title = "Loss, nats per token";
  chart.x_label = "iteration";
  chart.empty_text = "this run recorded no losses";
  Series training{"training", theme::kAccent, {}, {}, false};
  Series heldout{"held-out", theme::kWarning, {}, {}, true};
  for (const db::Iteration& iteration : run.iterations) {
    training.x.push_back(iteration.iteration);
    training.y.push_back(iteration.loss);
    if (!iteration.heldout_loss) continue;
    heldout.x.push_back(iteration.iteration);
    heldout.y.push_back(*iteration.heldout_loss);
  }
  if (!training.x.empty()) chart.series.push_back(std::move(training));
  if (!heldout.x.empty()) chart.series.push_back(std::move(heldout));
  if (!run.loads.empty()) {
    chart.mark = true;
    chart.marked_x = run.loads.iterations[panel.iteration];
  }
  draw_line_chart(fonts, chart, area);
}

void draw_charts(LoadPanel& panel, const Fonts& fonts, const RunData& run,
                 std::int64_t selected_run) {
  refresh(panel, run);
  const LoadTable& table = run.loads;
  if (!table.empty()) {
    step(panel, table);
    const bool of_study = run.run_id != selected_run;
    draw_controls(panel, table, of_study ? fmt::format("of run {}", run.run_id) : "");
  }
  const float em = fonts.text->FontSize;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const Rect all{{corner.x, corner.y + em * 0.5F}, {corner.x + room.x, corner.y + room.y}};
  if (table.empty()) {
    draw_text(*ImGui::GetWindowDrawList(), *fonts.text, all.min.x, all.min.y + em, 0, theme::kMuted,
              "This run recorded no expert loads. Pick a training run at the left.");
    if (!run.iterations.empty()) {
      draw_loss_chart(panel, fonts, run, {{all.min.x, all.min.y + em * 3}, all.max});
    }
    return;
  }

  const float gap = em * 1.6F, bar = em * 6;
  const float split_y = all.min.y + all.height() * 0.56F;
  const float map_px = (all.width() - bar - 2 * gap) / 2;
  const double most = scale_of(panel, table);
  const double mean = balance_at(panel, table, panel.iteration, panel.layer).mean;
  draw_layer_map(panel, fonts, table, most, {all.min, {all.min.x + map_px, split_y}});
  const float second = all.min.x + map_px + gap;
  draw_iteration_map(panel, fonts, table, most, {{second, all.min.y}, {second + map_px, split_y}});
  draw_color_bar(fonts, {"tokens", most, mean, panel.shared_scale && panel.open_ended},
                 {{second + map_px + gap, all.min.y}, {all.max.x, split_y}});

  const float third = (all.width() - 2 * gap) / 3;
  const float top = split_y + gap;
  draw_balance_chart(panel, fonts, table, {{all.min.x, top}, {all.min.x + third, all.max.y}});
  draw_loss_chart(panel, fonts, run,
                  {{all.min.x + third + gap, top}, {all.min.x + 2 * third + gap, all.max.y}});
  draw_balance_table(panel, fonts, table, {{all.max.x - third, top}, all.max});
}

void draw_loads(App& app, Rect area) {
  begin_fixed("loads", area);
  draw_charts(app.states.of<LoadPanel>(), app.fonts, app.session.run, app.session.selected_run);
  ImGui::End();
}

bool is_playing(App& app) { return app.states.of<LoadPanel>().playing; }

}  // namespace

Panel loads_panel() {
  return {"loads", "Loads", SideList::runs, kLoadsKeys, draw_loads, is_playing};
}

}  // namespace viewer
