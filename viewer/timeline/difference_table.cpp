#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "viewer/model/format.h"
#include "viewer/model/timeline.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/tables.h"
#include "viewer/window/sentence.h"
#include "viewer/window/table.h"
#include "viewer/window/table_copy.h"

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

// What the two tables have room for. Figures are never cut: where there is little room, the two
// that differ stand in tooltips, and their difference in the table.
struct DifferenceLayout {
  float parts_px = 0;  // the width of the table of parts; that of ops has the rest
  bool parts_have_sides = true, ops_have_sides = true;
};

constexpr float kLeastName_em = 9;

float figure_px() { return ImGui::CalcTextSize("+88.8 ms").x; }
float difference_px() { return ImGui::CalcTextSize("difference").x; }

DifferenceLayout difference_layout(float room_px, float gap_px) {
  const float padding_px = 2 * ImGui::GetStyle().CellPadding.x;
  const float scrollbar_px = ImGui::GetStyle().ScrollbarSize;
  const float name_px = kLeastName_em * ImGui::GetFontSize() + padding_px;
  const float narrow_px = name_px + difference_px() + padding_px + scrollbar_px;
  const float wide_px = narrow_px + 2 * (figure_px() + padding_px);
  constexpr float kPartsShare = 0.42F;
  if (room_px >= 2 * wide_px + gap_px) return {std::max(wide_px, room_px * kPartsShare)};
  const bool ops_fit = room_px >= narrow_px + wide_px + gap_px;
  return {std::min(narrow_px, room_px / 2), false, ops_fit};
}

constexpr const char *kParts = "parts", *kNarrowParts = "parts, narrow";
constexpr const char *kOps = "ops that differ", *kNarrowOps = "ops that differ, narrow";

bool begin_difference_table(const char* id, const char* name, bool has_sides, float width_px) {
  const int columns = has_sides ? 4 : 2;
  if (!ImGui::BeginTable(id, columns, kDifferenceFlags, {width_px, 0})) return false;
  std::vector<const char*> names = {name};
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn(name, ImGuiTableColumnFlags_WidthStretch);
  const auto add = [&](const char* title, float px) {
    ImGui::TableSetupColumn(title, ImGuiTableColumnFlags_WidthFixed, px);
    names.push_back(title);
  };
  if (has_sides) add("first", figure_px()), add("second", figure_px());
  add("difference", difference_px());
  header_row(names, 1);
  return true;
}

void draw_part_differences(const Fonts& fonts, const Differences& found,
                           const DifferenceLayout& layout) {
  const bool has_sides = layout.parts_have_sides;
  const char* id = has_sides ? kParts : kNarrowParts;
  if (!begin_difference_table(id, "what a rank did", has_sides, layout.parts_px)) return;
  double first_s = 0, second_s = 0;
  for (const PartDifference& part : found.parts) {
    first_s += part.first_s;
    second_s += part.second_s;
  }
  const auto row = [&](const std::string& name, double a_s, double b_s) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(fitting(*fonts.small, name).c_str());
    if (is_cell_hovered()) {
      ImGui::SetTooltip("%s: %s in the first, %s in the second", name.c_str(),
                        duration_text(a_s, 3).c_str(), duration_text(b_s, 3).c_str());
    }
    if (has_sides) {
      figure_cell(duration_text(a_s, 3));
      figure_cell(duration_text(b_s, 3));
    }
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
                         std::span<const StackEntry> stack, const Differences& found,
                         bool has_sides) {
  const char* name = has_sides ? "op, its chunks summed, mean of ranks" : "op, chunks summed";
  if (!begin_difference_table(has_sides ? kOps : kNarrowOps, name, has_sides, 0)) return;
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
      const std::string in_first = op.in_first ? duration_text(op.first_s, 3) : "-";
      const std::string in_second = op.in_second ? duration_text(op.second_s, 3) : "-";
      if (is_cell_hovered()) {
        ImGui::SetTooltip("%s\n%s in the first, %s in the second\nclick frames it in both",
                          op_text(op.op).c_str(), in_first.c_str(), in_second.c_str());
      }
      if (has_sides) figure_cell(in_first), figure_cell(in_second);
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
  draw_sentence(pace_text(*found), theme::kWarning);
  ImGui::PushFont(fonts.small);
  DifferenceLayout layout = difference_layout(ImGui::GetContentRegionAvail().x, em * 1.5F);
  layout.parts_have_sides |= TableCopy::copies_whole(kNarrowParts, kParts);
  layout.ops_have_sides |= TableCopy::copies_whole(kNarrowOps, kOps);
  draw_part_differences(fonts, *found, layout);
  ImGui::SameLine(0, em * 1.5F);
  draw_op_differences(panel, fonts, stack, *found, layout.ops_have_sides);
  ImGui::PopFont();
}

}  // namespace viewer
