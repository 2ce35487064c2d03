#include "viewer/panels/setups.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "db/error.h"
#include "viewer/model/format.h"
#include "viewer/panels/panels.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/scatter.h"
#include "viewer/window/table.h"

/// What searches found: layouts with micro-batches and schedules, their time against their memory, and
/// what the memory consists of.
namespace viewer {

namespace {

constexpr double kSetupMilli = 1e-3, kSetupMebi = 1024.0 * 1024;
constexpr std::size_t kMostMemoryBars = 24;

constexpr std::array kSetupKeys = {
    KeyHelp{"click", "a row or a point: select the setup in table and charts"}};

void read_setups(SetupPanel& panel, Session& session) {
  if (panel.catalog_changes == session.catalog_changes) return;
  panel.catalog_changes = session.catalog_changes;
  try {
    panel.setups = db::load_setup_overviews(session.connection);
  } catch (const db::Error& error) {
    session.problem = error.what();
  }
  panel.groups = setup_groups(panel.setups);
  panel.group = std::min(panel.group, panel.groups.size() - (panel.groups.empty() ? 0 : 1));
}

void follow_selected_run(SetupPanel& panel, std::int64_t run) {
  if (panel.of_run == run) return;
  panel.of_run = run;
  const auto found = std::ranges::find_if(
      panel.groups, [&](SetupGroup group) { return group.front().setup.run_id == run; });
  if (found == panel.groups.end()) return;
  panel.group = static_cast<std::size_t>(found - panel.groups.begin());
  panel.selected.reset();
}

SetupGroup shown_group(const SetupPanel& panel) { return panel.groups[panel.group]; }

void choose_group(SetupPanel& panel) {
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 32);
  if (!ImGui::BeginCombo("##search", group_name(shown_group(panel)).c_str())) return;
  for (std::size_t i = 0; i < panel.groups.size(); ++i) {
    const std::string name = fmt::format("{}##{}", group_name(panel.groups[i]), i);
    if (!ImGui::Selectable(name.c_str(), i == panel.group)) continue;
    panel.group = i;
    panel.selected.reset();
  }
  ImGui::EndCombo();
}

// Whether the row was clicked.
bool draw_setup_row(const db::SetupOverview& one, bool selected) {
  const db::PredictedSetup& setup = one.setup;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const std::string shown = fitting(*ImGui::GetFont(), setup.layout);
  const bool clicked = ImGui::Selectable(fmt::format("{}##{}", shown, setup.place).c_str(),
                                         selected, ImGuiSelectableFlags_SpanAllColumns);
  explain_cut(setup.layout, shown);
  text_cell(setup.micro_batch_order);
  text_cell(setup.planner);
  text_cell(setup.shard_optimizer != 0 ? "sharded" : "");
  text_cell(setup.bounded_by);
  text_cell(one.on_front ? "\u2022" : "");
  figure_cell(fmt::format("{}", setup.place));
  figure_cell(fmt::format("{}", setup.micro_batches));
  const auto count_cell = [](int count) { figure_cell(count > 0 ? std::to_string(count) : ""); };
  count_cell(setup.restored_blocks);
  count_cell(setup.whole_blocks);
  figure_cell(duration_text(setup.predicted_s, 3));
  figure_cell(grouped(setup.tokens_per_s, 0));
  figure_cell(setup.peak_share ? percent_text(*setup.peak_share) : "");
  figure_cell(bytes_text(static_cast<double>(setup.predicted_peak_bytes)));
  figure_cell(duration_text(setup.lower_bound_s, 3));
  return clicked;
}

void draw_setup_table(SetupPanel& panel, float height) {
  constexpr std::array kNames = {"layout", "order",    "planner",       "optimizer",   "bound by",
                                 "front",  "place",    "micro-batches", "restored",    "whole",
                                 "time",   "tokens/s", "share of peak", "peak memory", "bound"};
  constexpr std::array kWeights = {2.0F, 1.2F, 1.1F, 0.9F, 1.8F, 0.5F, 0.6F, 1.1F,
                                   0.8F, 0.6F, 0.9F, 1.0F, 1.1F, 1.1F, 0.9F};
  constexpr std::size_t kFirstSetupFigure = 6;
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_PadOuterX |
                                     ImGuiTableFlags_NoBordersInBody |
                                     ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("setups", static_cast<int>(kNames.size()), kFlags, {0, height})) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    ImGui::TableSetupColumn(kNames[i], 0, kWeights[i]);
  }
  header_row(kNames, kFirstSetupFigure);
  const SetupGroup group = shown_group(panel);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (draw_setup_row(group[i], i == panel.selected)) panel.selected = i;
  }
  end_table();
}

ScatterChart setup_chart(const SetupPanel& panel) {
  ScatterChart chart;
  chart.title = "Time against peak memory";
  chart.x_label = "predicted time of an iteration, ms";
  chart.y_label = "predicted peak of a rank, MiB";
  chart.line_name = "front";
  const SetupGroup group = shown_group(panel);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const db::SetupOverview& one = group[i];
    ScatterPoint point{one.setup.predicted_s / kSetupMilli,
                       static_cast<double>(one.setup.predicted_peak_bytes) / kSetupMebi};
    point.hollow = !one.on_front;
    point.color = i == panel.selected ? theme::kWarning
                  : one.on_front      ? theme::kAccent
                                      : theme::kMuted;
    point.text =
        fmt::format("{}\n{}, {}", setup_name(one.setup), duration_text(one.setup.predicted_s, 3),
                    bytes_text(static_cast<double>(one.setup.predicted_peak_bytes)));
    point.name = one.setup.layout;
    chart.points.push_back(std::move(point));
    // Steps: from the time of a setup on as little memory as its is possible.
    if (!one.on_front) continue;
    const ScatterPoint& corner = chart.points.back();
    if (!chart.line.empty()) chart.line.emplace_back(corner.x, chart.line.back().second);
    chart.line.emplace_back(corner.x, corner.y);
  }
  const auto& limit = group.front().setup.memory_limit_bytes;
  if (limit) {
    const double most = static_cast<double>(*limit) / kSetupMebi;
    const auto fullest = std::ranges::max_element(chart.points, {}, &ScatterPoint::y);
    // A limit far above all would leave them no room.
    if (most < 1.5 * fullest->y) {
      chart.least_y = most;
      chart.line_name = "front; dashed: memory of a rank";
    }
  }
  return chart;
}

struct MemoryPart {
  const char* name;
  std::int64_t db::PredictedSetup::*bytes;
  Color color;
};
const std::array kMemoryParts = {
    MemoryPart{"parameters", &db::PredictedSetup::parameter_bytes, theme::kAccent},
    MemoryPart{"gradients", &db::PredictedSetup::gradient_bytes, theme::kGood},
    MemoryPart{"optimizer", &db::PredictedSetup::optimizer_bytes, theme::kWarning},
    MemoryPart{"activations", &db::PredictedSetup::activation_bytes, theme::kBad},
    MemoryPart{"buffers", &db::PredictedSetup::buffer_bytes, theme::kMuted}};

// Bars of the first setups, one below the other, the fastest at the top.
void draw_memory_bars(const SetupPanel& panel, const Fonts& fonts, Rect area) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const ImFont& font = *fonts.small;
  const float line = font.FontSize;
  draw_text(draw, *fonts.bold, area.min.x, area.min.y + line * 0.7F, 0, theme::kText,
            "Peak memory of the fullest rank");
  float x = area.min.x;
  for (const MemoryPart& part : kMemoryParts) {
    const float y = area.min.y + line * 2.2F;
    draw.AddRectFilled({x, y - line * 0.35F}, {x + line * 0.7F, y + line * 0.35F},
                       to_u32(part.color));
    draw_text(draw, font, x + line, y, 0, theme::kMuted, part.name);
    x += text_width(font, part.name) + line * 2.2F;
  }
  const SetupGroup group = shown_group(panel);
  const float top = area.min.y + line * 3.4F, pitch = line * 1.5F;
  const auto room = static_cast<std::size_t>(std::max(0.0F, (area.max.y - top) / pitch));
  const std::size_t shown = std::min({group.size(), room, kMostMemoryBars});
  std::int64_t most = 1;
  float names = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const db::PredictedSetup& setup = group[i].setup;
    most = std::max(most, setup.predicted_peak_bytes);
    names = std::max(names, text_width(font, setup.layout));
  }
  const float left = area.min.x + std::min(names, area.width() * 0.4F) + line;
  const float width = area.max.x - left - line * 5;
  if (width < line * 4) return;
  for (std::size_t i = 0; i < shown; ++i) {
    const db::PredictedSetup& setup = group[i].setup;
    const float y = top + pitch * (static_cast<float>(i) + 0.5F);
    const Color color = i == panel.selected ? theme::kWarning : theme::kMuted;
    draw_text(draw, font, left - line * 0.6F, y, 1, color,
              elided(font, setup.layout, left - line - area.min.x));
    float begin = left;
    for (const MemoryPart& part : kMemoryParts) {
      const float end = begin + width * static_cast<float>(static_cast<double>(setup.*part.bytes) /
                                                           static_cast<double>(most));
      draw.AddRectFilled({begin, y - line * 0.5F}, {end, y + line * 0.5F}, to_u32(part.color));
      begin = end;
    }
    draw_text(draw, font, begin + line * 0.5F, y, 0, color,
              bytes_text(static_cast<double>(setup.predicted_peak_bytes)));
  }
}

void draw_setup_charts(SetupPanel& panel, const Fonts& fonts, Rect area) {
  const float gap = fonts.text->FontSize * 2;
  const float width = (area.width() - gap) / 2;
  const auto pointed =
      draw_scatter(fonts, setup_chart(panel), {area.min, {area.min.x + width, area.max.y}});
  draw_memory_bars(panel, fonts, {{area.min.x + width + gap, area.min.y}, area.max});
  if (pointed && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) panel.selected = *pointed;
}

void draw_setups(PanelContext& context, Rect area) {
  auto& panel = context.states.of<SetupPanel>();
  read_setups(panel, context.session);
  follow_selected_run(panel, context.session.selected_run);
  begin_fixed("setups", area);
  if (panel.groups.empty()) {
    ImGui::TextDisabled("No setups yet: moe-tune search --db FILE stores what it finds.");
    ImGui::End();
    return;
  }
  choose_group(panel);
  ImGui::SameLine();
  ImGui::TextDisabled("%zu setups that the search found, by predicted time",
                      shown_group(panel).size());
  const float row_px = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
  const auto rows = static_cast<float>(shown_group(panel).size());
  const float room = ImGui::GetContentRegionAvail().y;
  draw_setup_table(panel, std::min(row_px * (rows + 1.5F), room * 0.5F));
  const ImVec2 corner = ImGui::GetCursorScreenPos(), left = ImGui::GetContentRegionAvail();
  const float top = corner.y + context.fonts.text->FontSize * 0.6F;
  draw_setup_charts(panel, context.fonts,
                    {{corner.x, top}, {corner.x + left.x, corner.y + left.y}});
  ImGui::End();
}

}  // namespace

Panel setups_panel() {
  return {"setups", "Setups", SideList::none, kSetupKeys, draw_setups, nullptr};
}

}  // namespace viewer
