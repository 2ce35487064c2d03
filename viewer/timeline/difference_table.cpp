#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "viewer/model/format.h"
#include "viewer/model/op_label.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/tables.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

constexpr ImGuiTableFlags kDifferenceFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                             ImGuiTableFlags_PadOuterX |
                                             ImGuiTableFlags_SizingStretchProp;

std::string signed_text(double seconds) {
  if (seconds == 0) return "0 s";
  return fmt::format("{}{}", seconds > 0 ? '+' : '-', duration_text(std::abs(seconds), 3));
}

void difference_cell(double seconds) {
  const Color color = seconds > 0 ? theme::kBad : seconds < 0 ? theme::kGood : theme::kMuted;
  ImGui::PushStyleColor(ImGuiCol_Text, to_u32(color));
  figure_cell(signed_text(seconds));
  ImGui::PopStyleColor();
}

void begin_difference_columns(const char* name) {
  const std::array names = {name, "first", "second", "difference"};
  constexpr std::array kWeights = {2.6F, 1.0F, 1.0F, 1.2F};
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < names.size(); ++i) ImGui::TableSetupColumn(names[i], 0, kWeights[i]);
  header_row(names, 1);
}

void draw_part_differences(const Fonts& fonts, const Differences& found, float width) {
  if (!ImGui::BeginTable("parts", 4, kDifferenceFlags, {width, 0})) return;
  begin_difference_columns("what a rank did");
  double first_s = 0, second_s = 0;
  for (const PartDifference& part : found.parts) {
    first_s += part.first_s;
    second_s += part.second_s;
  }
  const auto row = [&](const std::string& name, double a_s, double b_s) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(fitting(*fonts.small, name).c_str());
    figure_cell(duration_text(a_s, 3));
    figure_cell(duration_text(b_s, 3));
    difference_cell(b_s - a_s);
  };
  row("all of it", first_s, second_s);
  for (const PartDifference& part : found.parts) row(part.name, part.first_s, part.second_s);
  end_table();
}

std::string op_text(const db::TimelineOp& op) {
  db::TimelineOp whole = op;
  whole.chunk = 0, whole.chunks = 1;
  std::string text = op_label(whole);
  if (op.layer >= 0) text += fmt::format(", layer {}", op.layer);
  return op.phase.empty() ? text : text + ", " + op.phase;
}

void draw_op_differences(TimelinePanel& panel, const Fonts& fonts,
                         std::span<const StackEntry> stack, const Differences& found) {
  if (!ImGui::BeginTable("ops that differ", 4, kDifferenceFlags)) return;
  begin_difference_columns("op, its chunks summed, mean of ranks");
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(found.ops.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const OpDifference& op = found.ops[static_cast<std::size_t>(i)];
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      const std::string shown = fitting(*fonts.small, op_text(op.op));
      if (ImGui::Selectable(fmt::format("{}##{}", shown, i).c_str(), false,
                            ImGuiSelectableFlags_SpanAllColumns)) {
        frame_both(panel, stack, op);
      }
      if (is_cell_hovered())
        ImGui::SetTooltip("%s\nclick frames it in both", op_text(op.op).c_str());
      figure_cell(op.in_first ? duration_text(op.first_s, 3) : "-");
      figure_cell(op.in_second ? duration_text(op.second_s, 3) : "-");
      difference_cell(op.difference_s());
    }
  }
  end_table();
}

std::string name_of(const StackEntry& entry) {
  return entry.timeline->info.kind + " " + entry.title;
}

// Which two of more than two timelines are compared. The table shows what is chosen from the next
// frame on.
void choose_pair(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  constexpr std::array kNames = {"first", "second"};
  const float em = fonts.text->FontSize;
  const float width = std::clamp((ImGui::GetContentRegionAvail().x - em * 16) / 2, em * 6, em * 20);
  std::array<std::size_t, 2> pair = compared_pair(panel, stack);
  for (std::size_t side = 0; side < pair.size(); ++side) {
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", kNames[side]);
    ImGui::SameLine();
    ImGui::SetNextItemWidth(width);
    ImGui::PushID(kNames[side]);
    const std::string shown = elided(*fonts.text, name_of(stack[pair[side]]), width - em * 2.5F);
    if (ImGui::BeginCombo("##compared", shown.c_str())) {
      for (std::size_t s = 0; s < stack.size(); ++s) {
        ImGui::PushID(static_cast<int>(s));
        if (ImGui::Selectable(name_of(stack[s]).c_str(), s == pair[side])) {
          if (s == pair[1 - side]) pair[1 - side] = pair[side];
          pair[side] = s;
          panel.compared = pair;
        }
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
    ImGui::PopID();
    ImGui::SameLine(0, em * 1.5F);
  }
}

TimeRange axis_range_of(const TimelinePanel& panel, std::span<const StackEntry> stack,
                        std::size_t in, SpanPosition at) {
  const Timeline& timeline = *stack[in].timeline;
  const AxisMap map = axis_map(timeline, panel.own_axis, stack_extent(stack));
  TimeRange range =
      map.to_axis(TimeRange{span_at(timeline, at).start_s, span_at(timeline, at).end_s});
  for (const SpanPosition other : whole_op(timeline, at).spans) {
    const LaneSpan& span = span_at(timeline, other);
    range = {std::min(range.begin_s, map.to_axis(span.start_s)),
             std::max(range.end_s, map.to_axis(span.end_s))};
  }
  return range;
}

}  // namespace

void frame_both(TimelinePanel& panel, std::span<const StackEntry> stack, const OpDifference& op) {
  std::optional<TimeRange> frame;
  const auto include = [&](std::size_t in, std::optional<SpanPosition> at) {
    if (!at) return;
    const TimeRange range = axis_range_of(panel, stack, in, *at);
    frame = frame ? TimeRange{std::min(frame->begin_s, range.begin_s),
                              std::max(frame->end_s, range.end_s)}
                  : range;
    panel.selected = StackPosition{in, *at};
  };
  const auto [first, second] = compared_pair(panel, stack);
  include(second, op.in_second);
  include(first, op.in_first);
  if (!frame) return;
  panel.view = zoom(padded(*frame, 0.25), 1, frame->begin_s, stack_extent(stack));
  panel.scroll_to_selected = true;
}

void draw_differences(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const Differences* found = difference_of(panel, stack);
  if (found == nullptr) return;
  const float em = fonts.text->FontSize;
  ImGui::Checkbox("colour spans by difference", &panel.color_by_difference);
  const bool is_wide = stack.size() == 2 || ImGui::GetContentRegionAvail().x > em * 50;
  if (is_wide) ImGui::SameLine(0, em * 2);
  if (stack.size() > 2) choose_pair(panel, fonts, stack);
  const auto [first, second] = compared_pair(panel, stack);
  const std::string text =
      fmt::format("{}: second \"{}\" minus first \"{}\"", signed_text(found->total_s),
                  name_of(stack[second]), name_of(stack[first]));
  const std::string shown = stack.size() > 2 ? signed_text(found->total_s) : text;
  ImGui::TextDisabled("%s", elided(*fonts.text, shown, ImGui::GetContentRegionAvail().x).c_str());
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", text.c_str());
  ImGui::PushFont(fonts.small);
  draw_part_differences(fonts, *found, ImGui::GetContentRegionAvail().x * 0.42F);
  ImGui::SameLine(0, em * 1.5F);
  draw_op_differences(panel, fonts, stack, *found);
  ImGui::PopFont();
}

}  // namespace viewer
