#pragma once

#include <imgui.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viewer/model/activity.h"
#include "viewer/model/color.h"
#include "viewer/model/counterpart.h"
#include "viewer/model/summary.h"
#include "viewer/timeline/layout.h"
#include "viewer/window/plot.h"

namespace viewer {

/// A span of one of the stacked timelines.
struct StackPosition {
  std::size_t stack = 0;
  SpanPosition at;
  bool operator==(const StackPosition&) const = default;
};

/// How the spans of one op look; made once per timeline.
struct OpStyle {
  Color fill;
  Color text;
  std::string label;        ///< "all_to_all dispatch 2/4"
  std::string short_label;  ///< "dispatch 2/4"
  std::string chunk_label;  ///< "2/4", empty where there is one chunk
  std::string legend_kind;
};

/// One kind of the legend with its gradients.
struct LegendItem {
  std::string kind;  ///< see legend_kind
  Activity activity = Activity::computation;
  std::vector<Color> shades;  ///< lightest, the forward op's, first
};

/// Which part of the timelines is shown, and how. Times are axis seconds (see AxisMap). Key codes
/// are those of GLFW; for printable keys they are upper-case ASCII codes.
struct TimelinePanel {
  int stack_changes = 0;  ///< the stack_changes of the session when this stack was loaded
  int arrivals = 0;       ///< likewise
  std::vector<std::int64_t> stacked;  ///< the ids of this stack, topmost first
  TimeRange view;
  bool fit = true;  ///< show everything at the next frame
  bool own_axis = false;
  std::optional<StackPosition> selected;
  std::optional<StackPosition> hovered;
  std::size_t hovered_count = 0;   ///< spans in the mark under the mouse
  std::optional<TimeRange> range;  ///< marked with shift and drag; limits the statistics
  std::string highlighted;         ///< kind under the mouse in the legend
  std::string pinned;              ///< kind clicked in the legend

  std::optional<double> range_anchor_s;

  // Kept from frame to frame because they cost time to make; see the functions that fill them.
  std::map<std::int64_t, std::vector<OpStyle>> styles;  ///< [timeline id]
  std::vector<Summary> summaries;                       ///< one per stacked timeline
  std::vector<std::int64_t> summarized_ids;
  std::optional<TimeRange> summarized_range;
  bool summarized_own_axis = false;
  std::vector<LegendItem> legend;
  std::vector<std::int64_t> legend_ids;
  /// [stacked timeline]: the op like the selected one.
  std::vector<std::optional<WholeOp>> counterparts;
  std::optional<StackPosition> counterparts_of;
};

/// Draws ruler and lanes into `area` of the current window and reacts to mouse and keyboard.
void draw_timelines(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                    Rect area);

/// The legend of the op kinds in the stack, at the cursor. Computation and communication have lines
/// of their own. Lines are `width_px` wide, the first one `first_line_px`.
void draw_legend(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                 float first_line_px, float width_px);

/// Describes the selected span and the same op in the other timelines of the stack.
void draw_selection(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// Where the time went: a table of ranks for each timeline. Where these do not fit beside each
/// other, one table of all timelines with the means of their ranks.
void draw_summaries(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// Statistics of the stack inside the marked range. Computed again only after a change.
const std::vector<Summary>& summaries(TimelinePanel& panel, std::span<const StackEntry> stack);

/// Styles of the timeline's ops, made at the first call.
const std::vector<OpStyle>& styles_of(TimelinePanel& panel, const Timeline& timeline);

/// The op of the selected span, with all its chunks, in timeline `in` of the stack.
std::optional<WholeOp> counterpart_of_selected(TimelinePanel& panel,
                                               std::span<const StackEntry> stack, std::size_t in);

std::vector<std::int64_t> ids_of(std::span<const StackEntry> stack);

}  // namespace viewer
