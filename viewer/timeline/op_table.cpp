#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "viewer/model/format.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/tables.h"
#include "viewer/window/table.h"
#include "viewer/window/table_copy.h"

namespace viewer {

namespace {

enum OpColumn { kName, kCount, kTotal, kBeside, kExposed, kWaiting, kMean, kP50, kP95, kMax };
constexpr std::array kNames = {"op",      "count", "total", "predicted", "exposed",
                               "waiting", "mean",  "P50",   "P95",       "max"};

double figure_of(const OpRows& table, const std::string& key, const OpRow& row, int column) {
  switch (column) {
    case kCount:
      return static_cast<double>(row.count);
    case kBeside: {
      const auto found = table.beside_s.find(key);
      return found == table.beside_s.end() ? 0 : found->second;
    }
    case kExposed:
      return row.exposed_s;
    case kWaiting:
      return row.waiting_s;
    case kMean:
      return row.mean_s;
    case kP50:
      return row.median_s;
    case kP95:
      return row.p95_s;
    case kMax:
      return row.max_s;
    default:
      return row.total_s;
  }
}

// The table of another width is sorted as the one before it was, by a column that both have.
void keep_order(OpTable& table, const std::string& id, const std::vector<OpColumn>& columns) {
  if (table.drawn_as == id) return;
  const bool is_first = table.drawn_as.empty();
  table.drawn_as = id;
  const auto at = std::find(columns.begin(), columns.end(), table.sorted_column);
  if (is_first || at == columns.end()) return;
  ImGui::TableSetColumnSortDirection(
      static_cast<int>(at - columns.begin()),
      table.is_ascending ? ImGuiSortDirection_Ascending : ImGuiSortDirection_Descending, false);
}

// As the header of the table orders them; the pinned row is first.
std::vector<const OpRow*> sorted_rows(OpTable& table, const OpRows& of) {
  std::vector<const OpRow*> rows;
  for (const OpRow& row : of.rows) rows.push_back(&row);
  const auto key_of = [&](const OpRow* row) { return op_key(row->sample, table.grouping); };
  const ImGuiTableSortSpecs* order = ImGui::TableGetSortSpecs();
  if (order != nullptr && order->SpecsCount > 0) {
    const ImGuiTableColumnSortSpecs spec = order->Specs[0];
    table.sorted_column = spec.ColumnUserID;
    table.is_ascending = spec.SortDirection == ImGuiSortDirection_Ascending;
    std::stable_sort(rows.begin(), rows.end(), [&](const OpRow* a, const OpRow* b) {
      if (!table.is_ascending) std::swap(a, b);
      if (spec.ColumnUserID == kName) return a->name < b->name;
      const int column = static_cast<int>(spec.ColumnUserID);
      return figure_of(of, key_of(a), *a, column) < figure_of(of, key_of(b), *b, column);
    });
  }
  std::stable_partition(rows.begin(), rows.end(),
                        [&](const OpRow* row) { return key_of(row) == table.pinned; });
  return rows;
}

void draw_bars(const std::vector<std::size_t>& counts, ImVec2 size, Color color) {
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  const float width = size.x / static_cast<float>(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const float share = static_cast<float>(counts[i]) / static_cast<float>(most);
    const float x = corner.x + width * static_cast<float>(i);
    ImGui::GetWindowDrawList()->AddRectFilled({x, corner.y + size.y * (1 - share)},
                                              {x + width - 1, corner.y + size.y}, to_u32(color));
  }
  ImGui::Dummy(size);
}

void draw_histogram(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                    const OpRow& row) {
  constexpr std::size_t kBins = 24;
  const Timeline& timeline = *stack[panel.focus].timeline;
  const std::vector<double> durations = durations_of(timeline, index_of(panel, timeline), row,
                                                     marked_range(panel, stack, panel.focus));
  if (durations.empty()) return;
  const float em = fonts.text->FontSize;
  ImGui::BeginTooltip();
  ImGui::TextUnformatted(row.name.c_str());
  draw_bars(histogram(durations, kBins), {em * 18, em * 5}, op_color(row.sample));
  ImGui::TextDisabled("%s", duration_text(durations.front(), 3).c_str());
  const std::string longest = duration_text(durations.back(), 3);
  ImGui::SameLine(em * 18 - text_width(*fonts.text, longest));
  ImGui::TextDisabled("%s", longest.c_str());
  ImGui::TextDisabled(
      "%zu spans by duration; click pins, double click jumps to the longest exposed",
      durations.size());
  ImGui::EndTooltip();
}

void name_cell(const Fonts& fonts, const OpRow& row) {
  const float size = fonts.small->FontSize * 0.75F;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + size * 0.25F},
                                            {at.x + size, at.y + size * 1.25F},
                                            to_u32(op_color(row.sample)), 2);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + size * 1.6F);
}

constexpr float kWideOps_em = 66;

// The columns of a table that has room for all, or for those that are asked for most.
std::vector<OpColumn> columns_of(const StackEntry& entry, bool is_wide) {
  std::vector<OpColumn> columns = {kName,    kCount, kTotal, kBeside, kExposed,
                                   kWaiting, kMean,  kP50,   kP95,    kMax};
  std::erase_if(columns, [&](OpColumn column) {
    const bool spread = column == kMean || column == kP50 || column == kP95;
    return (column == kBeside && entry.beside == nullptr) || (spread && !is_wide);
  });
  return columns;
}

const char* column_name(const StackEntry& entry, OpColumn column) {
  const bool predicted = entry.timeline->info.kind == db::kPredicted;
  return column == kBeside && predicted ? "measured" : kNames[static_cast<std::size_t>(column)];
}

void draw_op_row(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                 const OpRows& of, const OpRow& row, const std::vector<OpColumn>& columns) {
  const std::string key = op_key(row.sample, panel.op_table.grouping);
  const bool pinned = key == panel.op_table.pinned;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  name_cell(fonts, row);
  const std::string shown = fitting(*fonts.small, row.name);
  constexpr ImGuiSelectableFlags kFlags =
      ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowDoubleClick;
  if (ImGui::Selectable((shown + "##" + key).c_str(), pinned, kFlags)) {
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
      pin_row(panel, stack, key);
      step(panel, stack, panel.walk, 1);
    } else {
      pin_row(panel, stack, pinned ? "" : key);
    }
  }
  if (is_cell_hovered()) draw_histogram(panel, fonts, stack, row);
  for (const OpColumn column : columns) {
    if (column == kName) continue;
    const double figure = figure_of(of, key, row, column);
    if (column == kCount) {
      figure_cell(grouped(figure, 0));
    } else {
      figure_cell(figure > 0 ? duration_text(figure, 3) : "-");
    }
  }
}

void draw_rows(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const StackEntry& entry = stack[panel.focus];
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingStretchProp |
                                     ImGuiTableFlags_NoBordersInBody | ImGuiTableFlags_PadOuterX;
  const float width_em = ImGui::GetContentRegionAvail().x / fonts.small->FontSize;
  const bool is_wide = width_em > kWideOps_em || TableCopy::copies_whole("ops, narrow", "ops");
  const std::vector<OpColumn> columns = columns_of(entry, is_wide);
  const char* id = is_wide ? "ops" : "ops, narrow";
  if (!ImGui::BeginTable(id, static_cast<int>(columns.size()), kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  std::vector<const char*> names;
  for (const OpColumn column : columns) {
    names.push_back(column_name(entry, column));
    const int flags = (column == kTotal ? ImGuiTableColumnFlags_DefaultSort : 0) |
                      (column == kName ? 0 : ImGuiTableColumnFlags_PreferSortDescending);
    ImGui::TableSetupColumn(names.back(), flags, column == kName ? 2.2F : 1.0F,
                            static_cast<ImGuiID>(column));
  }
  keep_order(panel.op_table, id, columns);
  header_row(names, 1, true);
  const OpRows& of = op_rows(panel, stack);
  const std::vector<const OpRow*> rows = sorted_rows(panel.op_table, of);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      draw_op_row(panel, fonts, stack, of, *rows[static_cast<std::size_t>(i)], columns);
    }
  }
  end_table();
}

std::string walk_text(const Walk& walk) {
  if (walk.spans.empty()) return "none";
  const std::string at = walk.at ? fmt::format("{} of ", *walk.at + 1) : "";
  return fmt::format("{}{}", at, grouped(static_cast<double>(walk.spans.size()), 0));
}

void draw_search(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  const float em = fonts.text->FontSize;
  ImGui::SameLine(0, em * 2);
  ImGui::SetNextItemWidth(em * 16);
  if (std::exchange(panel.search.focus, false)) ImGui::SetKeyboardFocusHere();
  const bool entered =
      ImGui::InputTextWithHint("##search", "/ name, layer 3, forward, chunk 2", &panel.search.text,
                               ImGuiInputTextFlags_EnterReturnsTrue);
  if (ImGui::IsItemEdited()) search(panel, stack);
  if (entered) step(panel, stack, panel.walk, 1);
  if (panel.search.text.empty() && panel.op_table.pinned.empty()) return;
  ImGui::SameLine();
  ImGui::TextDisabled("%s   n N", walk_text(panel.walk).c_str());
}

}  // namespace

const OpRows& op_rows(TimelinePanel& panel, std::span<const StackEntry> stack) {
  static const OpRows none;
  const Timeline& timeline = *stack[panel.focus].timeline;
  const Timeline* beside = stack[panel.focus].beside;
  if (!timeline.complete) return none;
  const OpGrouping grouping = panel.op_table.grouping;
  const TimeRange range = marked_range(panel, stack, panel.focus);
  const auto find = [&]() -> OpRows {
    const SpanIndex& index = index_of(panel, timeline);
    OpRows found{op_table(timeline, index, range, grouping), {}};
    if (beside == nullptr) return found;
    const SpanIndex& other = index_of(panel, *beside);
    if (panel.range) {
      found.beside_s = same_ops_s(timeline, index, range, *beside, other, grouping);
      return found;
    }
    for (const OpRow& row : op_table(*beside, other, beside->extent, grouping)) {
      found.beside_s[op_key(row.sample, grouping)] = row.total_s;
    }
    return found;
  };
  // While a range is dragged the old rows stay, as those of ranks do.
  const bool is_dragged = panel.range_anchor_s.has_value();
  const std::int64_t beside_id = beside == nullptr ? 0 : beside->info.id;
  return panel.memo.answer(Question::ops, timeline.info.id, std::tuple(range, grouping, beside_id),
                           find, is_dragged);
}

void pin_row(TimelinePanel& panel, std::span<const StackEntry> stack, const std::string& key) {
  panel.op_table.pinned = key;
  panel.search = {};
  panel.walk = {};
  panel.lit.clear();
  for (const OpRow& row : op_rows(panel, stack).rows) {
    if (key.empty() || op_key(row.sample, panel.op_table.grouping) != key) continue;
    const Timeline& timeline = *stack[panel.focus].timeline;
    panel.walk.name = row.name;
    for (const SpanPosition at : longest_first(timeline, index_of(panel, timeline), row,
                                               marked_range(panel, stack, panel.focus))) {
      panel.walk.spans.push_back({panel.focus, at});
    }
    for (const StackEntry& entry : stack) {
      std::vector<bool>& lit = panel.lit[entry.timeline->info.id];
      for (const db::TimelineOp& op : entry.timeline->ops) {
        lit.push_back(op_key(op, panel.op_table.grouping) == key);
      }
    }
  }
}

void draw_op_table(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("by");
  for (const OpGrouping grouping : {OpGrouping::kind, OpGrouping::op}) {
    ImGui::SameLine();
    const char* name = grouping == OpGrouping::kind ? "kind" : "op";
    if (ImGui::RadioButton(name, panel.op_table.grouping == grouping) &&
        panel.op_table.grouping != grouping) {
      panel.op_table.grouping = grouping;
      pin_row(panel, stack, "");
    }
  }
  draw_search(panel, fonts, stack);
  ImGui::SameLine();
  ImGui::TextDisabled("   sums over ranks");
  ImGui::PushFont(fonts.small);
  draw_rows(panel, fonts, stack);
  ImGui::PopFont();
}

}  // namespace viewer
