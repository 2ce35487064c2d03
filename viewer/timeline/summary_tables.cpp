#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "viewer/model/format.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

// A figure above a thin bar that is filled to `share`.
void bar_cell(const std::string& text, double share, Color color) {
  const float bar_px = scaled_px(3);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float top = at.y + ImGui::GetTextLineHeight() + line_px();
  const float filled = width * static_cast<float>(std::clamp(share, 0.0, 1.0));
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled({at.x, top}, {at.x + width, top + bar_px}, to_u32(theme::kLine, 0.6F), 1);
  if (filled >= 1) {
    draw.AddRectFilled({at.x, top}, {at.x + filled, top + bar_px}, to_u32(color), 1);
  }
  const float room = width - ImGui::CalcTextSize(text.c_str()).x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(room, 0.0F));
  ImGui::TextUnformatted(text.c_str());
}

// The parts of exposed time have columns where they are known; bubbles, copies and host work only
// where they take more than a trifle.
struct Columns {
  bool parts = false;
  bool bubble = false;
  bool copy = false;
  bool host = false;
};

Columns columns_of(const Summary& summary) {
  constexpr double kTrifle = 0.01;  // of the range
  const double least_s = kTrifle * summary.range.length_s();
  return {summary.knows_waiting, summary.mean.exposed_bubble_s > least_s,
          summary.mean.copy_s > least_s, summary.mean.host_s > least_s};
}

Columns either(Columns a, Columns b) {
  return {a.parts || b.parts, a.bubble || b.bubble, a.copy || b.copy, a.host || b.host};
}

void summary_row(const std::string& name, const db::RankStatistics& rank, double length_s,
                 Columns columns) {
  const auto time_cell = [&](double part_s, Color color) {
    ImGui::TableNextColumn();
    bar_cell(duration_text(part_s, 3), length_s > 0 ? part_s / length_s : 0, color);
  };
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(name.c_str());
  time_cell(rank.computation_s, activity_color(Activity::computation));
  time_cell(rank.communication_s, activity_color(Activity::communication));
  time_cell(rank.exposed_s, theme::kBad);
  if (columns.parts) {
    time_cell(rank.exposed_transfer_s(), theme::kBad);
    time_cell(rank.exposed_waiting_s, theme::kBad);
  }
  if (columns.bubble) time_cell(rank.exposed_bubble_s, theme::kBad);
  if (columns.copy) time_cell(rank.copy_s, activity_color(Activity::copy));
  if (columns.host) time_cell(rank.host_s, activity_color(Activity::host));
  time_cell(rank.idle_s, theme::kMuted);
}

// Columns of one width after that of names, so that equal bars are equal times.
bool begin_columns(const char* names, float names_px, Columns columns) {
  std::vector<const char*> headers = {names, "computation", "communication", "exposed"};
  if (columns.parts) headers.insert(headers.end(), {"its transfer", "its waiting"});
  if (columns.bubble) headers.push_back("its bubble");
  if (columns.copy) headers.push_back("copy");
  if (columns.host) headers.push_back("host");
  headers.push_back("idle");
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_SizingStretchSame;
  if (!ImGui::BeginTable("summary", static_cast<int>(headers.size()), kFlags)) return false;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    ImGui::TableSetupColumn(headers[i], i == 0 ? ImGuiTableColumnFlags_WidthFixed : 0,
                            i == 0 ? names_px : 0);
  }
  header_row(headers, 1);
  return true;
}

// The places of the ranks of a table in Summary::ranks: as their lanes are, or all by number.
std::vector<std::size_t> places_of(const StackEntry& entry, const Summary& summary) {
  if (entry.rows != nullptr) return entry.rows->ledgers;
  std::vector<std::size_t> places(summary.ranks.size());
  for (std::size_t place = 0; place < places.size(); ++place) places[place] = place;
  return places;
}

void draw_summary_table(const StackEntry& entry, const Summary& summary) {
  if (summary.ranks.empty()) return;
  const Columns columns = columns_of(summary);
  if (!begin_columns("rank", ImGui::CalcTextSize("mean ").x, columns)) return;
  const double length_s = summary.range.length_s();
  if (summary.ranks.size() > 1) summary_row("mean", summary.mean, length_s, columns);
  const std::vector<std::size_t> places = places_of(entry, summary);
  ImGuiListClipper clipper;  // of hundreds of ranks a few are in sight
  clipper.Begin(static_cast<int>(places.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const db::RankStatistics& rank = summary.ranks[places[static_cast<std::size_t>(i)]];
      summary_row(std::to_string(rank.rank), rank, length_s, columns);
    }
  }
  end_table();
}

std::string facts_of(const TimelinePanel& panel, const StackEntry& entry, const Summary& summary) {
  return fmt::format("{}, {}{}", entry.timeline->info.kind, duration_text(summary.range.length_s()),
                     panel.range ? " marked" : "");
}

// For more timelines than fit beside each other: the means of each, with bars of one scale.
void draw_means_table(const TimelinePanel& panel, const ImFont& font,
                      std::span<const StackEntry> stack, const std::vector<Summary>& figures) {
  Columns columns;
  double longest_s = 0;
  float names_px = 0;
  std::vector<std::string> facts;
  for (std::size_t s = 0; s < figures.size(); ++s) {
    columns = either(columns, columns_of(figures[s]));
    longest_s = std::max(longest_s, figures[s].range.length_s());
    facts.push_back(", " + facts_of(panel, stack[s], figures[s]));
    names_px =
        std::max(names_px, text_width(font, stack[s].title) + text_width(font, facts.back()));
  }
  names_px = std::min(names_px, ImGui::GetContentRegionAvail().x * 0.4F);
  if (!begin_columns("mean of ranks", names_px, columns)) return;
  for (std::size_t s = 0; s < figures.size(); ++s) {
    const float title_px = names_px - text_width(font, facts[s]);
    summary_row(elided(font, stack[s].title, title_px) + facts[s], figures[s].mean, longest_s,
                columns);
  }
  end_table();
}

}  // namespace

const std::vector<Summary>& summaries(TimelinePanel& panel, std::span<const StackEntry> stack) {
  return panel.memo.answer(
      Question::summaries, 0, std::tuple(loaded_spans(stack), panel.range, panel.own_axis), [&] {
        std::vector<Summary> summaries;
        for (std::size_t s = 0; s < stack.size(); ++s) {
          summaries.push_back(summarize(*stack[s].timeline, marked_range(panel, stack, s)));
        }
        return summaries;
      });
}

void draw_summaries(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const std::vector<Summary>& figures = summaries(panel, stack);
  if (figures.empty()) return;
  const float gap = ImGui::GetStyle().ItemSpacing.x * 2;
  const auto count = static_cast<float>(figures.size());
  const float room = ImGui::GetContentRegionAvail().x;
  const bool has_parts = std::any_of(figures.begin(), figures.end(),
                                     [](const Summary& of) { return of.knows_waiting; });
  const float least = fonts.text->FontSize * (has_parts ? 31 : 23);
  const float width = std::max(least, (room - gap * (count - 1)) / count);
  const auto draw_small = [&](const auto& draw_table) {
    ImGui::PushFont(fonts.small);
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {scaled_px(5), scaled_px(4)});
    draw_table();
    ImGui::PopStyleVar();
    ImGui::PopFont();
  };
  if (count > 1 && width * count + gap * (count - 1) > room) {
    draw_small([&] { draw_means_table(panel, *fonts.small, stack, figures); });
    return;
  }
  for (std::size_t s = 0; s < figures.size(); ++s) {
    if (s > 0) ImGui::SameLine(0, gap);
    ImGui::PushID(static_cast<int>(s));
    ImGui::BeginChild("summary of one", {width, 0});
    const std::string facts = facts_of(panel, stack[s], figures[s]);
    const float facts_px = text_width(*fonts.text, facts) + fonts.text->FontSize;
    ImGui::PushFont(fonts.bold);
    ImGui::TextUnformatted(elided(*fonts.bold, stack[s].title, width - facts_px).c_str());
    ImGui::PopFont();
    ImGui::SameLine();
    ImGui::TextDisabled("%s", facts.c_str());
    draw_small([&] { draw_summary_table(stack[s], figures[s]); });
    ImGui::EndChild();
    ImGui::PopID();
  }
}

}  // namespace viewer
