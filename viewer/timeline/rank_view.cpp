#include "viewer/timeline/rank_view.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "viewer/model/format.h"

namespace viewer {

namespace {

constexpr std::size_t kManyRanks = 32;  // are drawn by node until a person says otherwise
constexpr std::size_t kFewRanks = 4;    // are seen at a glance
constexpr double kPart_px = 3;
constexpr double kBudget_s = 0.005;  // of a frame
constexpr double kSameScale = 1e-6;  // panning rounds the length of the view

std::size_t most_ranks(std::span<const StackEntry> stack) {
  std::size_t most = 0;
  for (const StackEntry& entry : stack) most = std::max(most, entry.timeline->ledgers.size());
  return most;
}

// The same of those that are on the list.
std::size_t most_chosen(std::span<const StackEntry> stack, const RankChoice& choice) {
  RankChoice plain;
  plain.ranks = choice.ranks;
  std::size_t most = 0;
  for (const StackEntry& entry : stack) {
    most = std::max(most, rank_rows(*entry.timeline, {}, plain, {}).ledgers.size());
  }
  return most;
}

// What the colours of bands stand for.
void draw_band_legend(const Fonts& fonts) {
  const float em = fonts.small->FontSize;
  for (const auto& [name, color] :
       {std::pair("computing", activity_color(Activity::computation)),
        std::pair("exposed", theme::kBad), std::pair("idle", theme::kLane)}) {
    ImGui::SameLine(0, em);
    const float width = em * 1.3F + text_width(*fonts.small, name);
    if (ImGui::GetContentRegionAvail().x < width) return;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float middle = at.y + ImGui::GetFrameHeight() / 2, half = em * 0.42F;
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    draw.AddRectFilled({at.x, middle - half}, {at.x + 2 * half, middle + half}, to_u32(color), 2);
    draw_text(draw, *fonts.small, at.x + em * 1.2F, middle, 0, theme::kMuted, name);
    ImGui::Dummy({width, ImGui::GetFrameHeight()});
  }
}

// What the ranks of a timeline are sorted by; empty for their numbers.
std::vector<double> figures_of(TimelinePanel& panel, std::span<const StackEntry> stack,
                               std::size_t in) {
  const Timeline& timeline = *stack[in].timeline;
  const RankOrder order = panel.ranks.choice.order;
  std::vector<double> figures;
  if (order == RankOrder::number) return figures;
  if (order == RankOrder::lateness) {
    if (!is_indexed(panel, timeline)) return figures;
    std::map<int, double> caused_s;
    for (const Lateness& rank :
         lateness(timeline, index_of(panel, timeline), marked_range(panel, stack, in))) {
      caused_s[rank.rank] = rank.caused_s;
    }
    for (const TimeLedger& ledger : timeline.ledgers) figures.push_back(caused_s[ledger.rank]);
    return figures;
  }
  const bool counted = std::any_of(timeline.ledgers.begin(), timeline.ledgers.end(),
                                   [](const TimeLedger& ledger) { return ledger.flops > 0; });
  const Summary& summary = summaries(panel, stack)[in];
  for (std::size_t r = 0; r < timeline.ledgers.size(); ++r) {
    if (order == RankOrder::load && counted) {
      figures.push_back(timeline.ledgers[r].flops);
    } else {
      figures.push_back(order == RankOrder::load ? summary.ranks[r].computation_s
                                                 : summary.ranks[r].idle_s);
    }
  }
  return figures;
}

bool is_fresh(const TimelinePanel& panel, const ShownRanks& shown, const Timeline& timeline,
              TimeRange range) {
  const bool same_range =
      panel.range_anchor_s || panel.ranks.choice.order == RankOrder::number || shown.range == range;
  return shown.is_final && shown.ranks == timeline.ledgers.size() &&
         shown.choice == panel.ranks.choice && same_range;
}

const NodeRanks& node_at(const StackEntry& entry, std::size_t place) {
  return entry.rows->nodes[place];
}

std::vector<int> ranks_of(const Timeline& timeline, const NodeRanks& node) {
  std::vector<int> ranks;
  for (const std::size_t place : node.ledgers) ranks.push_back(timeline.ledgers[place].rank);
  return ranks;
}

bool is_of_view(const TimeParts& parts, TimeRange view, double part_s) {
  if (parts.count == 0 || std::abs(parts.part_s / part_s - 1) > kSameScale) return false;
  const TimeRange all = parts.all();
  return all.begin_s <= view.begin_s && view.end_s <= all.end_s;
}

// Goes on with a band until it is complete or the time is over. Returns whether it is complete.
template <typename IsOver>
bool go_on(NodeBand& band, const Timeline& timeline, const NodeRanks& node, TimeRange view,
           double part_s, const IsOver& is_over) {
  std::vector<std::size_t> ledgers = node.ledgers;
  std::sort(ledgers.begin(), ledgers.end());
  if (ledgers != band.ledgers) {
    band = {};
    band.ledgers = std::move(ledgers);
  }
  if (is_of_view(band.shown.parts, view, part_s)) return true;
  if (!is_of_view(band.next.parts, view, part_s)) {
    band.next = {};
    band.next.parts = parts_around(view, part_s);
  }
  while (band.next.ranks < band.ledgers.size()) {
    if (is_over()) return false;
    add_rank(band.next, timeline, timeline.ledgers[band.ledgers[band.next.ranks]]);
  }
  band.shown = std::exchange(band.next, {});
  return true;
}

void paint_band(const Canvas& canvas, const NodeActivity& activity, const AxisMap& map, float top,
                float bottom) {
  const ImU32 computes = to_u32(activity_color(Activity::computation));
  const ImU32 exposed = to_u32(theme::kBad);
  const ImU32 others = to_u32(activity_color(Activity::copy));
  const double whole_s = activity.parts.part_s * static_cast<double>(activity.ranks);
  for (std::size_t i = 0; i < activity.times.size(); ++i) {
    const TimeRange part = map.to_axis(activity.parts.of(i));
    const float x0 = std::max(canvas.axis.to_px(part.begin_s), canvas.axis.left);
    const float x1 = std::min(canvas.axis.to_px(part.end_s), canvas.axis.right);
    if (!(x1 > x0)) continue;
    const PartTime& time = activity.times[i];
    float y = bottom;
    const auto stack_up = [&](float seconds, ImU32 color) {
      const float share = std::clamp(static_cast<float>(seconds / whole_s), 0.0F, 1.0F);
      const float next = std::max(y - share * (bottom - top), top);
      if (y - next > 0.2F) canvas.draw.AddRectFilled({x0, next}, {x1, y}, color);
      y = next;
    };
    stack_up(time.computation_s, computes);
    stack_up(time.exposed_s, exposed);
    stack_up(time.busy_s - time.computation_s - time.exposed_s, others);
  }
}

void paint_band_gutter(const Canvas& canvas, const TimelinePanel& panel, const StackEntry& entry,
                       const NodeRanks& node, float top, float bottom) {
  const float em = canvas.fonts.text->FontSize, middle = (top + bottom) / 2;
  const bool is_open = panel.ranks.choice.opened.contains(node.node);
  const ImVec2 at{canvas.area.min.x + em * 0.7F, middle};
  const float size = em * 0.25F;
  if (is_open) {
    canvas.draw.AddTriangleFilled({at.x - size, at.y - size * 0.6F},
                                  {at.x + size, at.y - size * 0.6F}, {at.x, at.y + size},
                                  to_u32(theme::kMuted));
  } else {
    canvas.draw.AddTriangleFilled({at.x - size * 0.6F, at.y - size},
                                  {at.x - size * 0.6F, at.y + size}, {at.x + size, at.y},
                                  to_u32(theme::kMuted));
  }
  const float left = at.x + em * 0.7F;
  const std::string count =
      fmt::format("{} rank{}", node.ledgers.size(), node.ledgers.size() == 1 ? "" : "s");
  const float count_px = text_width(*canvas.fonts.small, count);
  const float right = canvas.axis.left - em * 0.6F;
  const std::string name = node_name(entry, node);
  draw_text(canvas.draw, *canvas.fonts.bold, left, middle, 0, theme::kText,
            elided(*canvas.fonts.bold, name, right - left));
  if (left + text_width(*canvas.fonts.bold, name) + em * 0.5F + count_px > right) return;
  draw_text(canvas.draw, *canvas.fonts.small, right, middle, 1, theme::kMuted, count);
}

}  // namespace

std::string node_name(const StackEntry& entry, const NodeRanks& node) {
  const bool is_known = entry.nodes != nullptr && !entry.nodes->empty();
  if (is_known) return fmt::format("node {}", node.node);
  return "ranks " + ranks_text(ranks_of(*entry.timeline, node));
}

void choose_rows(TimelinePanel& panel, std::span<StackEntry> stack) {
  static const std::map<int, int> kUnknown;
  RankView& view = panel.ranks;
  if (!view.is_by_node_chosen) {
    view.choice.by_node = most_chosen(stack, view.choice) > kManyRanks;
  }
  for (std::size_t s = 0; s < stack.size(); ++s) {
    const Timeline& timeline = *stack[s].timeline;
    ShownRanks& shown = view.shown[timeline.info.id];
    const TimeRange range = marked_range(panel, stack, s);
    if (!is_fresh(panel, shown, timeline, range)) {
      const std::vector<double> figures = figures_of(panel, stack, s);
      shown.rows = rank_rows(timeline, stack[s].nodes == nullptr ? kUnknown : *stack[s].nodes,
                             view.choice, figures);
      shown.is_final = view.choice.order == RankOrder::number || !figures.empty();
      shown.choice = view.choice;
      shown.range = range;
      shown.ranks = timeline.ledgers.size();
    }
    stack[s].rows = &shown.rows;
  }
}

bool has_rank_bar(std::span<const StackEntry> stack) { return most_ranks(stack) > kFewRanks; }

void draw_rank_bar(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  if (!has_rank_bar(stack)) return;
  RankChoice& choice = panel.ranks.choice;
  const float em = fonts.text->FontSize;
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("ranks");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(em * 9);
  const bool wrong = !parse_ranks(choice.ranks);
  if (wrong) ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kBad));
  ImGui::InputTextWithHint("##ranks", "all, or 0-7,64", &choice.ranks);
  if (wrong) ImGui::PopStyleColor();
  if (wrong && ImGui::IsItemHovered()) {
    ImGui::SetTooltip("not a list of ranks: numbers and intervals, like 0-7,64");
  }
  ImGui::SameLine(0, em);
  ImGui::TextDisabled("by");
  for (const RankOrder order : kRankOrders) {
    ImGui::SameLine();
    if (ImGui::RadioButton(rank_order_name(order), choice.order == order)) choice.order = order;
  }
  ImGui::SameLine(0, em);
  if (ImGui::Checkbox("by node", &choice.by_node)) panel.ranks.is_by_node_chosen = true;
  if (ImGui::IsItemHovered()) {
    ImGui::SetTooltip(
        "a band for each node: computing below, exposed communication above it, the rest is idle");
  }
  ImGui::SameLine(0, em);
  const StackEntry& entry = stack[std::min(panel.focus, stack.size() - 1)];
  if (entry.rows == nullptr) return;
  const std::string shown =
      fmt::format("{} of {} ranks", entry.rows->ledgers.size(), entry.timeline->ledgers.size());
  ImGui::TextDisabled("%s", elided(*fonts.text, shown, ImGui::GetContentRegionAvail().x).c_str());
  if (choice.by_node) draw_band_legend(fonts);
}

void update_bands(TimelinePanel& panel, std::span<const StackEntry> stack,
                  const StackLayout& layout, const AxisPixels& axis, TimeRange visible_px) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto is_over = [&] {
    return !panel.at_once &&
           std::chrono::duration<double>(Clock::now() - begin).count() > kBudget_s;
  };
  for (const PlacedBand& placed : layout.bands) {
    const auto top = static_cast<double>(placed.y);
    if (top > visible_px.end_s || top + static_cast<double>(placed.height) < visible_px.begin_s) {
      continue;
    }
    const StackEntry& entry = stack[placed.stack];
    const AxisMap map = axis_map(*entry.timeline, panel.own_axis, stack_extent(stack));
    const NodeRanks& node = node_at(entry, placed.node);
    NodeBand& band = panel.ranks.bands[{entry.timeline->info.id, node.node}];
    const double part_s = kPart_px * axis.seconds_per_px() / map.scale;
    const bool complete =
        go_on(band, *entry.timeline, node, map.to_time(axis.view), part_s, is_over);
    panel.is_due = panel.is_due || !complete;
  }
}

void paint_bands(const Canvas& canvas, const TimelinePanel& panel,
                 std::span<const StackEntry> stack, const StackLayout& layout) {
  for (const PlacedBand& placed : layout.bands) {
    const float top = canvas.top + placed.y, bottom = top + placed.height;
    if (bottom < canvas.area.min.y || top > canvas.area.max.y) continue;
    const StackEntry& entry = stack[placed.stack];
    const NodeRanks& node = node_at(entry, placed.node);
    canvas.draw.AddRectFilled({canvas.axis.left, top}, {canvas.axis.right, bottom},
                              to_u32(theme::kLane));
    const auto band = panel.ranks.bands.find({entry.timeline->info.id, node.node});
    if (band != panel.ranks.bands.end() && band->second.shown.ranks > 0) {
      const AxisMap map = axis_map(*entry.timeline, panel.own_axis, stack_extent(stack));
      paint_band(canvas, band->second.shown, map, top, bottom);
    }
    paint_band_gutter(canvas, panel, entry, node, top, bottom);
  }
}

void find_hovered_rank(TimelinePanel& panel, std::span<const StackEntry> stack,
                       const StackLayout& layout, float y, bool in_gutter) {
  RankView& view = panel.ranks;
  view.hovered_rank.reset();
  view.hovered_node.reset();
  if (const PlacedBand* band = layout.band_at(y)) {
    view.hovered_node = {band->stack, band->node};
  } else if (const PlacedLane* lane = in_gutter ? layout.lane_at(y) : nullptr) {
    view.hovered_rank = stack[lane->stack].timeline->lanes[lane->lane].rank;
  }
}

bool click_rank(TimelinePanel& panel, std::span<const StackEntry> stack) {
  const auto toggle = [](std::set<int>& all, int one) {
    if (all.erase(one) == 0) all.insert(one);
  };
  RankView& view = panel.ranks;
  if (view.hovered_node) {
    const auto [in, place] = *view.hovered_node;
    toggle(view.choice.opened, node_at(stack[in], place).node);
    return true;
  }
  if (!view.hovered_rank) return false;
  toggle(view.choice.pinned, *view.hovered_rank);
  return true;
}

void show_rank(TimelinePanel& panel, std::span<const StackEntry> stack, StackPosition position) {
  const StackEntry& entry = stack[position.stack];
  if (entry.rows == nullptr) return;
  const int rank = rank_at(*entry.timeline, position.at);
  const auto is_of_rank = [&](std::size_t place) {
    return entry.timeline->ledgers[place].rank == rank;
  };
  const auto& rows = entry.rows->rows;
  if (std::any_of(rows.begin(), rows.end(),
                  [&](const RankRow& row) { return !row.is_node && is_of_rank(row.place); })) {
    return;
  }
  const auto& nodes = entry.rows->nodes;
  const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const NodeRanks& of) {
    return std::any_of(of.ledgers.begin(), of.ledgers.end(), is_of_rank);
  });
  if (node == nodes.end()) {
    panel.ranks.choice.pinned.insert(rank);
  } else {
    panel.ranks.choice.opened.insert(node->node);
  }
}

void draw_band_tooltip(TimelinePanel& panel, const Fonts& fonts,
                       std::span<const StackEntry> stack) {
  if (panel.range_anchor_s) return;
  if (panel.ranks.hovered_rank) {
    const bool pinned = panel.ranks.choice.pinned.contains(*panel.ranks.hovered_rank);
    ImGui::SetTooltip(pinned ? "rank %d: a click lets it go" : "rank %d: a click keeps it on top",
                      *panel.ranks.hovered_rank);
  }
  if (!panel.ranks.hovered_node) return;
  const auto [in, place] = *panel.ranks.hovered_node;
  const NodeRanks& node = node_at(stack[in], place);
  const Summary& summary = summaries(panel, stack)[in];
  std::vector<db::RankStatistics> ranks;
  for (const std::size_t r : node.ledgers) ranks.push_back(summary.ranks[r]);
  const db::RankStatistics mean = db::mean(ranks);
  const double length_s = summary.range.length_s();
  const auto share = [&](double part_s) {
    return length_s > 0 ? percent_text(part_s / length_s) : std::string("-");
  };
  ImGui::BeginTooltip();
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted(node_name(stack[in], node).c_str());
  ImGui::PopFont();
  ImGui::TextDisabled("ranks %s", ranks_text(ranks_of(*stack[in].timeline, node)).c_str());
  ImGui::TextUnformatted(fmt::format("computing {}, {}, idle {}{}", share(mean.computation_s),
                                     exposed_text(summary, mean), share(mean.idle_s),
                                     panel.range ? " of the marked range" : "")
                             .c_str());
  ImGui::TextDisabled(panel.ranks.choice.opened.contains(node.node) ? "a click closes it"
                                                                    : "a click opens it");
  ImGui::EndTooltip();
}

}  // namespace viewer
