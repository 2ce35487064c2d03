#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "db/error.h"
#include "db/timeline/read_timeline.h"
#include "viewer/model/catalog.h"
#include "viewer/model/rank_nodes.h"
#include "viewer/panels/fit_choice.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/run_list.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/rank_view.h"
#include "viewer/timeline/tables.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/splitter.h"

/// The stacked timelines: legend, lanes, and below them the selected span and the figures.
namespace viewer {

namespace {

constexpr const char* kShowAll = "Show all";
constexpr float kWide_em = 64, kLeastDetails_em = 3;
constexpr const char* kOwnAxis = "own time axis each";

constexpr std::array kTimelineKeys = {
    KeyHelp{"W  S", "zoom in and out at the mouse (with Shift: faster)"},
    KeyHelp{"A  D", "pan left and right"},
    KeyHelp{"Ctrl + wheel", "zoom at the mouse"},
    KeyHelp{"wheel", "scroll the lanes; with Shift: pan"},
    KeyHelp{"drag", "pan"},
    KeyHelp{"Shift + drag", "mark a range: the figures below count only what is inside"},
    KeyHelp{"click", "select a span; the same op is outlined in the other timelines"},
    KeyHelp{"double click", "zoom to the span"},
    KeyHelp{"/", "search: name, layer 3, forward, chunk 2"},
    KeyHelp{"n  N",
            "next and previous span of the search or of the pinned op, longest exposed first"},
    KeyHelp{"[  ]", "back and forth on the critical path"},
    KeyHelp{".  ,", "next and previous span of the lane"},
    KeyHelp{"M", "memory above the lanes; a click there says what stands in it"},
    KeyHelp{"F", "fit the marked range, else the selected span, else everything"},
    KeyHelp{"Home", "show all"},
    KeyHelp{"name of a rank", "a click keeps it on top; one on the band of a node opens it"},
    KeyHelp{"line above the tables", "drag it, and the one beside the list, to give them room"},
    KeyHelp{"legend", "hover or click a kind to see only that; darker shades are gradients"},
    KeyHelp{"Esc", "drop selection, range and highlighted kind"}};

// What is read from the database when it is first shown.
template <class Read>
auto& read_once(TimelinePanel& panel, Session& session, Question question, std::int64_t of,
                const Read& read) {
  return panel.memo.answer(question, of, 0, [&] {
    try {
      return read();
    } catch (const db::Error& error) {
      session.problem = error.what();
      return decltype(read())();
    }
  });
}

std::vector<StackEntry> stack_of(TimelinePanel& panel, Session& session) {
  std::vector<StackEntry> stack;
  for (const std::int64_t id : session.stacked) {
    const auto found = session.timelines.find(id);
    if (found == session.timelines.end()) continue;
    const db::TimelineInfo& info = found->second.info;
    stack.push_back({&found->second, timeline_title(session.catalog, info),
                     timeline_source(session.catalog, info), comparison_text(session.catalog, info),
                     nullptr, 0, nullptr, nullptr, nullptr});
    StackEntry& entry = stack.back();
    entry.nodes = &read_once(panel, session, Question::nodes, id,
                             [&] { return rank_nodes(session.connection, session.catalog, info); });
    if (shows_memory(panel)) {
      entry.memory = &read_once(panel, session, Question::memory, id,
                                [&] { return read_memory(session.connection, info); });
    }
    // Only the table of ops and a selected span are compared, and a timeline may be large.
    const bool is_selected = panel.selected && panel.selected->stack + 1 == stack.size();
    if (panel.figures == Figures::ops || is_selected) {
      entry.beside = load_beside(session, info);
    }
    if (panel.figures == Figures::collectives && info.kind == db::kMeasured && info.run_id) {
      entry.clock_error_s = read_once(panel, session, Question::clock_error, id,
                                      [&] { return clock_error_s(session, *info.run_id); });
    }
  }
  panel.at_once = !session.in_background;
  choose_rows(panel, stack);
  return stack;
}

// Finds again what the words or the pinned op stand for, after the timelines changed.
void walk_again(TimelinePanel& panel, std::span<const StackEntry> stack) {
  for (const StackEntry& entry : stack) {
    if (!entry.timeline->complete || is_indexed(panel, *entry.timeline)) continue;
    panel.walks_again = true;  // in the next frame
    return;
  }
  const std::optional<std::size_t> at = panel.walk.at;
  if (!panel.search.text.empty()) {
    search(panel, stack);
  } else {
    pin_row(panel, stack, std::string(panel.op_table.pinned));
  }
  if (at && *at < panel.walk.spans.size()) panel.walk.at = at;
}

// Whether the stacked timelines have the span; one that was read again may not.
bool is_there(const Session& session, StackPosition position) {
  std::size_t place = 0;
  for (const std::int64_t id : session.stacked) {
    const auto found = session.timelines.find(id);
    if (found == session.timelines.end() || place++ != position.stack) continue;
    const std::vector<Lane>& lanes = found->second.lanes;
    return position.at.lane < lanes.size() &&
           position.at.span < lanes[position.at.lane].spans.size();
  }
  return false;
}

// A new stack drops all state that points into the timelines of the old one. In a stack whose
// timelines are still loaded, lanes come at the end: the state stays.
void follow(TimelinePanel& panel, Session& session) {
  if (panel.arrivals != session.arrivals) panel.ranks.shown.clear();
  panel.arrivals = session.arrivals;
  if (panel.stack_changes == session.stack_changes) return;
  panel.stack_changes = session.stack_changes;
  if (panel.stacked == session.stacked) {
    panel.memo.forget();  // one of the timelines may have been read again
    panel.ranks.shown.clear();
    panel.ranks.bands.clear();
    panel.path_walk = {};
    panel.walks_again = !panel.search.text.empty() || !panel.op_table.pinned.empty();
    panel.hovered.reset();
    if (panel.selected && !is_there(session, *panel.selected)) panel.selected.reset();
    return;
  }
  TimelinePanel fresh;
  fresh.stack_changes = session.stack_changes;
  fresh.stacked = session.stacked;
  fresh.arrivals = session.arrivals;
  fresh.own_axis = panel.own_axis;
  fresh.pinned = panel.pinned;
  fresh.figures = panel.figures;
  fresh.op_table.grouping = panel.op_table.grouping;
  fresh.color_by_difference = panel.color_by_difference;
  fresh.details_em = panel.details_em;
  fresh.ranks.choice = panel.ranks.choice;
  fresh.ranks.is_by_node_chosen = panel.ranks.is_by_node_chosen;
  fresh.memory.pinned = panel.memory.pinned;
  fresh.memory.rank = panel.memory.rank;
  panel = std::move(fresh);
  if (!session.first_view) return;
  panel.view = *session.first_view;
  panel.fit = false;
  session.first_view.reset();
}

void draw_empty(const Session& session) {
  ImGui::Spacing();
  if (session.catalog.runs.empty()) {
    draw_no_runs();
  } else if (const RunRow* run = find_run(session.catalog, session.selected_run);
             session.stacked.empty() && run != nullptr && run->kind == "search") {
    ImGui::TextDisabled("A search records no timeline: the panel Setups has what it found.");
  } else if (session.stacked.empty()) {
    ImGui::TextDisabled(
        "No timeline is picked. Tick one in the list on the left; moe-train and moe-tune record "
        "them.");
  } else {
    ImGui::TextDisabled("The picked timelines hold no spans.");
  }
}

float toolbar_width(std::size_t stacked) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float button = ImGui::CalcTextSize(kShowAll).x + 2 * style.FramePadding.x;
  const float box = style.ItemSpacing.x + ImGui::GetFrameHeight() + style.ItemInnerSpacing.x +
                    ImGui::CalcTextSize(kOwnAxis).x;
  return stacked > 1 ? button + box : button;
}

void draw_toolbar(TimelinePanel& panel, std::size_t stacked) {
  if (ImGui::Button(kShowAll)) panel.fit = true;
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("Home, or F while nothing is selected");
  if (stacked > 1) {
    ImGui::SameLine();
    ImGui::Checkbox(kOwnAxis, &panel.own_axis);
    if (ImGui::IsItemHovered()) ImGui::SetTooltip("stretch every timeline to the same width");
  }
}

void draw_stack(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                float width) {
  const float toolbar_px = toolbar_width(stack.size());
  ImGui::BeginGroup();
  const float legend_px = ImGui::GetContentRegionAvail().x;
  draw_legend(panel, fonts, stack, legend_px - toolbar_px - fonts.text->FontSize, legend_px);
  ImGui::EndGroup();
  const ImVec2 after_legend = ImGui::GetCursorPos();
  const ImVec2 padding = ImGui::GetStyle().WindowPadding;
  ImGui::SetCursorPos({width - toolbar_px - padding.x, padding.y});
  draw_toolbar(panel, stack.size());
  ImGui::SetCursorPos(after_legend);
  draw_rank_bar(panel, fonts, stack);
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  draw_timelines(panel, fonts, stack, {corner, {corner.x + room.x, corner.y + room.y}});
}

void draw_timeline(PanelContext& context, Rect area) {
  auto& panel = context.states.of<TimelinePanel>();
  panel.is_due = panel.is_index_stopped = false;
  follow(panel, context.session);
  const std::vector<StackEntry> stack = stack_of(panel, context.session);
  const bool drawable = stack_extent(stack).length_s() > 0;
  if (drawable && std::exchange(panel.walks_again, false)) walk_again(panel, stack);
  const float em = context.fonts.text->FontSize;
  // The tables of ops need more lines than that of ranks, which has a row for each timeline.
  constexpr std::size_t kUsualRows = 8;
  const auto more_rows = static_cast<float>(std::max(stack.size(), kUsualRows) - kUsualRows);
  const float wanted = em * (panel.figures == Figures::ranks ? 15.5F + 1.45F * more_rows : 21);
  float details = std::min(wanted, area.height() * 0.42F);
  if (panel.details_em) details = std::min(*panel.details_em * em, area.height() * 0.85F);

  begin_fixed("timeline", {area.min, {area.max.x, area.max.y - details - 1}});
  if (drawable) {
    draw_stack(panel, context.fonts, stack, area.width());
  } else {
    draw_empty(context.session);
  }
  ImGui::End();

  begin_fixed("details", {{area.min.x, area.max.y - details}, area.max});
  if (drawable) {
    // Tables of many columns have all the room until a span is selected, as all have in a narrow
    // panel.
    const bool few_columns = panel.figures == Figures::ranks;
    if (panel.selected || (few_columns && area.width() > em * kWide_em)) {
      ImGui::BeginChild("selection", {std::min(em * 23, area.width() * 0.4F), 0});
      draw_selection(panel, context.fonts, stack);
      ImGui::EndChild();
      ImGui::SameLine(0, em * 1.5F);
    }
    ImGui::BeginChild("tables", {0, 0});
    draw_figures(panel, context.fonts, stack);
    ImGui::EndChild();
  }
  ImGui::End();
  const float edge = area.max.y - details;
  const float moved = drag_edge("details edge", {{area.min.x, edge}, {area.max.x, edge}});
  if (moved != 0) {
    panel.details_em = std::max((details - moved) / em, kLeastDetails_em);
  }
  if (panel.asked_fit.empty()) return;
  context.states.of<FitChoice>().op = std::exchange(panel.asked_fit, "");
  context.next_panel = "fits";
}

bool is_moving_timeline(PanelStates& states) {
  return is_view_key_held() || states.of<TimelinePanel>().is_due;
}

}  // namespace

Panel timeline_panel() {
  return {"timeline",    "Timeline",    SideList::runs_and_timelines,
          kTimelineKeys, draw_timeline, is_moving_timeline};
}

}  // namespace viewer
