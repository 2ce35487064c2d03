#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "viewer/model/format.h"
#include "viewer/model/timeline.h"
#include "viewer/timeline/memory_strip.h"
#include "viewer/timeline/tables.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

std::string rank_text(const RankMemory& rank, bool fullest) {
  return fmt::format("rank {}{}, {}", rank.rank, fullest ? " (fullest)" : "",
                     bytes_text(rank.device.peak.bytes));
}

void draw_rank_choice(TimelinePanel& panel, const MemoryTable& table, const RankMemory& shown) {
  const RankMemory* fullest = fullest_rank(table);
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 13);
  if (!ImGui::BeginCombo("##rank", rank_text(shown, &shown == fullest).c_str())) return;
  for (const RankMemory& rank : table.ranks) {
    if (ImGui::Selectable(rank_text(rank, &rank == fullest).c_str(), &rank == &shown)) {
      panel.memory.rank = rank.rank;
    }
  }
  ImGui::EndCombo();
}

// "peak 212 MiB at 34.2 ms; 230 MiB planned, 230 MiB touched; on the host 12.0 MiB".
std::string peak_text(const RankMemory& rank) {
  std::string text =
      fmt::format("peak {} at {}; {} planned", bytes_text(rank.device.peak.bytes),
                  duration_text(rank.device.peak.at_s), bytes_text(rank.device.planned_bytes));
  if (rank.touched_bytes) text += fmt::format(", {} touched", bytes_text(*rank.touched_bytes));
  if (rank.host.peak.bytes > 0) {
    text += fmt::format("; on the host {}", bytes_text(rank.host.peak.bytes));
  }
  return text;
}

// The ops of a timeline by their numbers in the database.
using OpsByNumber = std::map<int, const db::TimelineOp*>;

OpsByNumber ops_by_number(const Timeline& timeline) {
  OpsByNumber ops;
  for (const db::TimelineOp& op : timeline.ops) ops.emplace(op.op, &op);
  return ops;
}

std::string op_text(const OpsByNumber& ops, const std::optional<int>& number) {
  if (!number) return "";
  const auto found = ops.find(*number);
  if (found == ops.end()) return fmt::format("op {}", *number);
  const db::TimelineOp& op = *found->second;
  return op.layer >= 0 ? fmt::format("{}, layer {}", op_label(op), op.layer) : op_label(op);
}

void draw_item(const Fonts& fonts, const MemoryItem& item, double in_use, const OpsByNumber& ops) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const std::string name = memory_item_name(item);
  ImGui::TextUnformatted(fitting(*fonts.small, name).c_str());
  if (is_cell_hovered()) ImGui::SetTooltip("%s", name.c_str());
  std::string role = item.role;
  std::replace(role.begin(), role.end(), '_', ' ');
  text_cell(item.pool == db::kHostPool ? role + ", on the host" : role);
  const db::Allocation* of = item.allocation;
  for (const std::optional<int>& op :
       {of != nullptr ? of->first_op : std::nullopt, of != nullptr ? of->last_op : std::nullopt}) {
    ImGui::TableNextColumn();
    const std::string text = op_text(ops, op);
    ImGui::TextUnformatted(fitting(*fonts.small, text).c_str());
    if (!text.empty() && is_cell_hovered()) ImGui::SetTooltip("%s", text.c_str());
  }
  figure_cell(of != nullptr ? duration_text(*of->begin_s) : "");
  figure_cell(of != nullptr ? duration_text(*of->end_s) : "");
  figure_cell(bytes_text(item.bytes));
  figure_cell(item.pool == db::kHostPool ? "" : percent_text(in_use > 0 ? item.bytes / in_use : 0));
}

void draw_items(const Fonts& fonts, const std::vector<MemoryItem>& items, double in_use,
                const OpsByNumber& ops) {
  constexpr std::array kNames = {"tensor", "role",  "first use", "last use",
                                 "from",   "until", "bytes",     "share"};
  constexpr std::array kWeights = {3.2F, 1.5F, 2.6F, 2.6F, 1.0F, 1.0F, 1.0F, 0.8F};
  constexpr std::size_t kFirstFigure = 4;
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_PadOuterX | ImGuiTableFlags_Resizable |
                                     ImGuiTableFlags_NoBordersInBody |
                                     ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("memory", static_cast<int>(kNames.size()), kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    ImGui::TableSetupColumn(kNames[i], 0, kWeights[i]);
  }
  header_row(kNames, kFirstFigure);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(items.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      draw_item(fonts, items[static_cast<std::size_t>(i)], in_use, ops);
    }
  }
  end_table();
}

}  // namespace

void draw_memory_table(TimelinePanel& panel, const Fonts& fonts,
                       std::span<const StackEntry> stack) {
  const StackEntry& entry = stack[panel.focus];
  const RankMemory* rank = shown_memory(panel, entry);
  if (rank == nullptr) {
    ImGui::TextDisabled("This timeline was stored without the memory of its tensors.");
    return;
  }
  const std::optional<StackMoment>& chosen = panel.memory.chosen;
  const bool at_peak = !chosen || chosen->stack != panel.focus;
  const double at_s = at_peak ? rank->device.peak.at_s : chosen->at_s;
  const double in_use = bytes_at(rank->device, at_s);
  draw_rank_choice(panel, *entry.memory, *rank);
  ImGui::SameLine();
  if (!at_peak) {
    ImGui::Text("%s in use at %s", bytes_text(in_use).c_str(), duration_text(at_s).c_str());
    ImGui::SameLine();
    if (ImGui::SmallButton("show the peak")) panel.memory.chosen.reset();
    ImGui::SameLine();
  }
  const std::string text = peak_text(*rank);
  ImGui::TextDisabled("%s", elided(*fonts.text, text, ImGui::GetContentRegionAvail().x).c_str());
  ImGui::PushFont(fonts.small);
  draw_items(fonts, items_at(*entry.memory, *rank, at_s), in_use, ops_by_number(*entry.timeline));
  ImGui::PopFont();
}

}  // namespace viewer
