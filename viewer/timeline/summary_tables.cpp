#include <fmt/format.h>

#include <algorithm>

#include "viewer/model/format.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

// A cell whose background is filled to `share`.
void bar_cell(const std::string& text, double share, Color color) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float height = ImGui::GetTextLineHeight();
  const float filled = width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + width, at.y + height}, to_u32(theme::kLine, 0.35F), 2);
  if (filled >= 1) draw.AddRectFilled(at, {at.x + filled, at.y + height}, to_u32(color, 0.45F), 2);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + width - ImGui::CalcTextSize(text.c_str()).x - 4);
  ImGui::TextUnformatted(text.c_str());
}

Color stream_color(const std::string& stream) {
  db::TimelineOp op;
  op.stream = stream;
  if (stream == "compute") op.kind = "linear";
  if (stream == "inter_node" || stream == "intra_node") op.kind = "all_to_all";
  return op_color(op);
}

void summary_row(const std::string& name, const RankSummary& rank, double length_s) {
  const auto share = [&](double part_s) { return length_s > 0 ? part_s / length_s : 0; };
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(name.c_str());
  for (const StreamBusy& stream : rank.streams) {
    ImGui::TableNextColumn();
    bar_cell(duration_text(stream.busy_s, 3), share(stream.busy_s), stream_color(stream.stream));
  }
  ImGui::TableNextColumn();
  bar_cell(rank.communication_s > 0 ? percent_text(rank.overlap()) : "-", rank.overlap(),
           theme::kGood);
  ImGui::TableNextColumn();
  bar_cell(percent_text(share(rank.idle_s)), share(rank.idle_s), theme::kMuted);
}

std::string column_name(const std::string& stream) {
  if (stream == "inter_node") return "inter";
  if (stream == "intra_node") return "intra";
  return stream;
}

void draw_summary_table(const Summary& summary) {
  if (summary.ranks.empty()) return;
  std::vector<std::string> titles = {"rank"};
  for (const StreamBusy& stream : summary.ranks.front().streams)
    titles.push_back(column_name(stream.stream));
  titles.insert(titles.end(), {"covered", "idle"});
  std::vector<const char*> names;
  for (const std::string& title : titles) names.push_back(title.c_str());

  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingStretchSame;
  if (!ImGui::BeginTable("summary", static_cast<int>(names.size()), kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    ImGui::TableSetupColumn(names[i], i == 0 ? ImGuiTableColumnFlags_WidthFixed : 0,
                            i == 0 ? ImGui::CalcTextSize("mean ").x : 0);
  }
  header_row(names, 1);
  const double length_s = summary.range.length_s();
  if (summary.ranks.size() > 1) summary_row("mean", summary.mean(), length_s);
  for (const RankSummary& rank : summary.ranks)
    summary_row(std::to_string(rank.rank), rank, length_s);
  ImGui::EndTable();
}

}  // namespace

const std::vector<Summary>& summaries(TimelinePanel& panel, std::span<const StackEntry> stack) {
  std::vector<std::int64_t> ids = ids_of(stack);
  // While a range is being dragged the old figures stay: a million spans would not be summed at
  // every frame.
  const bool dragging = panel.range_anchor_s.has_value() && !panel.summaries.empty();
  const bool fresh = ids == panel.summarized_ids && panel.own_axis == panel.summarized_own_axis &&
                     (dragging || panel.range == panel.summarized_range);
  if (fresh) return panel.summaries;

  const TimeRange extent = stack_extent(stack);
  panel.summaries.clear();
  for (const StackEntry& entry : stack) {
    TimeRange range = entry.timeline->extent;
    if (panel.range) {
      const TimeRange marked =
          axis_map(*entry.timeline, panel.own_axis, extent).to_time(*panel.range);
      range = {std::max(range.begin_s, marked.begin_s), std::min(range.end_s, marked.end_s)};
      range.end_s = std::max(range.begin_s, range.end_s);
    }
    panel.summaries.push_back(summarize(*entry.timeline, range));
  }
  panel.summarized_ids = std::move(ids);
  panel.summarized_range = panel.range;
  panel.summarized_own_axis = panel.own_axis;
  return panel.summaries;
}

void draw_summaries(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const std::vector<Summary>& figures = summaries(panel, stack);
  if (figures.empty()) return;
  const float gap = ImGui::GetStyle().ItemSpacing.x * 2;
  const auto count = static_cast<float>(figures.size());
  const float room = ImGui::GetContentRegionAvail().x;
  const float width = std::max(fonts.text->FontSize * 29, (room - gap * (count - 1)) / count);
  for (std::size_t s = 0; s < figures.size(); ++s) {
    if (s > 0) ImGui::SameLine(0, gap);
    ImGui::PushID(static_cast<int>(s));
    ImGui::BeginChild("summary of one", {width, 0});
    const std::string facts =
        fmt::format("{}, {}{}", stack[s].timeline->info.kind,
                    duration_text(figures[s].range.length_s()), panel.range ? " marked" : "");
    const float facts_px = text_width(*fonts.text, facts) + fonts.text->FontSize;
    ImGui::PushFont(fonts.bold);
    ImGui::TextUnformatted(elided(*fonts.bold, stack[s].title, width - facts_px).c_str());
    ImGui::PopFont();
    ImGui::SameLine();
    ImGui::TextDisabled("%s", facts.c_str());
    ImGui::PushFont(fonts.small);
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {4, 3});
    draw_summary_table(figures[s]);
    ImGui::PopStyleVar();
    ImGui::PopFont();
    ImGui::EndChild();
    ImGui::PopID();
  }
}

}  // namespace viewer
