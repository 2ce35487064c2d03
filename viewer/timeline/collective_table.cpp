#include <fmt/format.h>
#include <imgui.h>

#include <array>
#include <string>

#include "viewer/model/format.h"
#include "viewer/timeline/tables.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

std::string time_or_dash(double seconds) { return seconds > 0 ? duration_text(seconds, 3) : "-"; }

void draw_lateness(const std::vector<Lateness>& ranks) {
  constexpr std::array kColumns = {"rank",        "caused",   "last", "mean late",
                                   "own waiting", "transfer", "count"};
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_PadOuterX | ImGuiTableFlags_SizingStretchSame;
  if (!ImGui::BeginTable("lateness", static_cast<int>(kColumns.size()), kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (const char* name : kColumns) ImGui::TableSetupColumn(name);
  header_row(kColumns, 1);
  for (const Lateness& rank : ranks) {
    ImGui::TableNextRow();
    text_cell(fmt::format("{}", rank.rank));
    figure_cell(time_or_dash(rank.caused_s));
    figure_cell(fmt::format("{} time{}", rank.times_last, rank.times_last == 1 ? "" : "s"));
    figure_cell(time_or_dash(rank.mean_late_s));
    figure_cell(time_or_dash(rank.waiting_s));
    figure_cell(time_or_dash(rank.transfer_s));
    figure_cell(fmt::format("{}", rank.communications));
  }
  end_table();
}

// What stands beside the table, and qualifies it.
std::string notes_of(const StackEntry& entry) {
  std::string notes = "waiting that each rank caused by coming last";
  if (!entry.clock_error_s) {
    notes += "; how far the clocks of ranks are apart is unknown";
  } else if (*entry.clock_error_s > 0) {
    notes += fmt::format("; clocks agree within {}", duration_text(*entry.clock_error_s, 2));
  }
  if (entry.timeline->first_rank.empty()) {
    notes += "; the groups of ranks were not stored: all ranks are taken together";
  }
  return notes;
}

}  // namespace

void draw_collectives(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const StackEntry& entry = stack[panel.focus];
  const std::vector<Lateness>& ranks = late_ranks(panel, stack);
  if (ranks.empty()) {
    ImGui::TextDisabled("No communication of several ranks begins here.");
    return;
  }
  const std::string notes = notes_of(entry);
  ImGui::TextDisabled("%s", elided(*fonts.text, notes, ImGui::GetContentRegionAvail().x).c_str());
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("%s", notes.c_str());
  ImGui::PushFont(fonts.small);
  draw_lateness(ranks);
  ImGui::PopFont();
}

const std::vector<Lateness>& late_ranks(TimelinePanel& panel, std::span<const StackEntry> stack) {
  const Timeline& timeline = *stack[panel.focus].timeline;
  const TimeRange range = marked_range(panel, stack, panel.focus);
  const auto find = [&] { return lateness(timeline, index_of(panel, timeline), range); };
  const bool is_dragged = panel.range_anchor_s.has_value();
  return panel.memo.answer(Question::late, timeline.info.id, range, find, is_dragged);
}

}  // namespace viewer
