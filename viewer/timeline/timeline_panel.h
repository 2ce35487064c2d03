#pragma once

#include <imgui.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "viewer/model/color.h"
#include "viewer/model/counterpart.h"
#include "viewer/model/node_activity.h"
#include "viewer/model/rank_rows.h"
#include "viewer/model/timeline.h"
#include "viewer/timeline/layout.h"
#include "viewer/timeline/memo.h"
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
  std::vector<std::string> labels;  ///< see op_labels
  std::string legend_kind;
};

/// One kind of the legend with its gradients.
struct LegendItem {
  std::string kind;  ///< see legend_kind
  Activity activity = Activity::computation;
  std::vector<Color> shades;  ///< lightest, the forward op's, first
};

/// The tables below the timelines.
enum class Figures { ranks, ops, collectives, path, memory, differences };
inline constexpr std::array kFigures = {Figures::ranks, Figures::ops,    Figures::collectives,
                                        Figures::path,  Figures::memory, Figures::differences};

/// The title of a table: "Ops".
const char* figures_title(Figures figures);
/// The name that the command line takes: "ops".
const char* figures_name(Figures figures);

/// Spans to step through with a key.
struct Walk {
  std::string name;  ///< the row or the words that they belong to
  std::vector<StackPosition> spans;
  std::optional<std::size_t> at;  ///< none before the first step
};

/// The rows of the table of ops.
struct OpRows {
  std::vector<OpRow> rows;
  std::map<std::string, double> beside_s;  ///< by op_key: the total in the timeline beside
};

/// How the table of ops is shown.
struct OpTable {
  OpGrouping grouping = OpGrouping::kind;
  std::string pinned;  ///< op_key of the row that was clicked
  /// What rows are sorted by. It goes over from a wide table to a narrow one, which are two tables
  /// of ImGui.
  unsigned sorted_column = 0;
  bool is_ascending = false;
  std::string drawn_as;  ///< the ImGui table of the frame before
};

/// The band of a node: what is drawn, and what will be drawn when all its ranks are added.
struct NodeBand {
  std::vector<std::size_t> ledgers;  ///< the ranks that are added, ascending
  NodeActivity shown;
  NodeActivity next;
};

/// The rows of a timeline, and what they were made from.
struct ShownRanks {
  RankRows rows;
  RankChoice choice;
  TimeRange range;
  std::size_t ranks = 0;
  bool is_final = false;  ///< what they are sorted by was known
};

/// Which ranks are shown, and the bands of nodes.
struct RankView {
  RankChoice choice;
  bool is_by_node_chosen = false;   ///< by a person; else many ranks are drawn by node
  bool at_once = false;             ///< bands are complete in the frame that needs them
  bool is_due = false;              ///< a band is not complete: the next frame goes on
  std::optional<int> hovered_rank;  ///< its name is under the mouse
  std::optional<std::pair<std::size_t, std::size_t>> hovered_node;  ///< stack, place of the node
  std::map<std::int64_t, ShownRanks> shown;                         ///< [timeline id]
  std::map<std::pair<std::int64_t, int>, NodeBand> bands;           ///< [timeline id, node]
};

/// A moment of one of the stacked timelines.
struct StackMoment {
  std::size_t stack = 0;
  double at_s = 0;  ///< in the timeline's own time
};

/// The strips of memory above the lanes, and the table of what stands in it.
struct MemoryView {
  bool pinned = false;      ///< the strips are shown beside any table, not only that of memory
  std::optional<int> rank;  ///< the fullest of each timeline where none is chosen
  std::optional<StackMoment> chosen;   ///< the moment that the table is about; else the peak
  std::optional<StackMoment> hovered;  ///< under the mouse
};

/// The words that are searched for, and what they are found in.
struct Search {
  std::string text;
  bool focus = false;  ///< the field takes the keyboard at the next frame
};

/// Which part of the timelines is shown, and how. Times are axis seconds (see AxisMap). Key codes
/// are those of GLFW; for printable keys they are upper-case ASCII codes.
struct TimelinePanel {
  int stack_changes = 0;  ///< the stack_changes of the session when this stack was loaded
  int arrivals = 0;       ///< likewise
  std::vector<std::int64_t> stacked;  ///< the ids of this stack, topmost first
  TimeRange view;
  bool fit = true;            ///< show everything at the next frame
  bool is_all_shown = false;  ///< the view is what `fit` makes it
  bool own_axis = false;
  std::optional<float> details_em;  ///< the height of what is below the lanes, where it was dragged
  std::optional<StackPosition> selected;
  std::optional<StackPosition> hovered;
  std::size_t hovered_count = 0;   ///< spans in the mark under the mouse
  std::optional<TimeRange> range;  ///< marked with shift and drag; limits the statistics
  std::string highlighted;         ///< kind under the mouse in the legend
  std::string pinned;              ///< kind clicked in the legend

  std::optional<double> range_anchor_s;

  Figures figures = Figures::ranks;
  std::size_t focus = 0;  ///< the timeline of the stack that the tables are about
  bool scroll_to_selected = false;
  OpTable op_table;
  Search search;
  Walk walk;                 ///< of `n` and `N`
  Walk path_walk;            ///< the critical path, of `[` and `]`
  bool walks_again = false;  ///< the timelines changed: `walk` and `lit` are found again
  /// [timeline id][op]: the ops that stand out; all where there is no entry.
  std::map<std::int64_t, std::vector<bool>> lit;
  bool color_by_difference = false;
  RankView ranks;
  bool at_once = false;           ///< what takes long is complete in the frame that needs it
  bool is_due = false;            ///< something is not complete: the next frame goes on with it
  bool is_index_stopped = false;  ///< the time for indices is over in this frame
  MemoryView memory;
  std::string asked_fit;  ///< the kind of op whose fit was asked for; the panel of fits takes it

  std::array<std::size_t, 2> compared = {0, 1};  ///< of the stack: the second minus the first
  Memo memo;  ///< of everything that is worked out from the timelines
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

/// The tables below the timelines: a line of tabs, and the one that is shown.
void draw_figures(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack);

/// Statistics of the stack inside the marked range. Computed again only after a change.
const std::vector<Summary>& summaries(TimelinePanel& panel, std::span<const StackEntry> stack);

/// The kinds of op in the stack.
const std::vector<LegendItem>& legend_of(TimelinePanel& panel, std::span<const StackEntry> stack);

/// Styles of the timeline's ops, made at the first call.
const std::vector<OpStyle>& styles_of(TimelinePanel& panel, const Timeline& timeline);

/// The op of the selected span, with all its chunks, in timeline `in` of the stack.
std::optional<WholeOp> counterpart_of_selected(TimelinePanel& panel,
                                               std::span<const StackEntry> stack, std::size_t in);

/// The same in the timeline that the selected one is compared with (StackEntry::beside).
std::optional<WholeOp> beside_selected(TimelinePanel& panel, std::span<const StackEntry> stack);

/// Whether the index of a timeline's spans is there. Where it is not, goes on making it for a few
/// milliseconds (`at_once`: until it is there) and asks for another frame.
bool is_indexed(TimelinePanel& panel, const Timeline& timeline);

/// The index of a timeline's spans, made now where it is not there. The timeline must be complete.
const SpanIndex& index_of(TimelinePanel& panel, const Timeline& timeline);

/// Its critical path, found at the first call. Empty while the timeline is still loaded or indexed.
const std::vector<PathStep>& path_of(TimelinePanel& panel, const Timeline& timeline);

/// The communication and the causes of the selected span. A timeline that is still loaded has none,
/// one that is still indexed has none yet.
struct AboutSpan {
  std::optional<Collective> collective;
  std::vector<Cause> causes;
};
const AboutSpan& about_selected(TimelinePanel& panel, std::span<const StackEntry> stack);

/// The marked part of a timeline of the stack, or all of it.
TimeRange marked_range(const TimelinePanel& panel, std::span<const StackEntry> stack,
                       std::size_t in);

/// Whether the strips of memory are shown.
bool shows_memory(const TimelinePanel& panel);

/// The rank of a timeline whose memory is shown: the chosen one, else the fullest. Null where its
/// memory is not known.
const RankMemory* shown_memory(const TimelinePanel& panel, const StackEntry& entry);

/// The two of a stack of at least two that are compared: those that were chosen, where they are
/// there, else the first two.
std::array<std::size_t, 2> compared_pair(const TimelinePanel& panel,
                                         std::span<const StackEntry> stack);

/// What the second of them has more or less than the first; null in a stack of one, and while one
/// of them is still loaded.
const Differences* difference_of(TimelinePanel& panel, std::span<const StackEntry> stack);

/// The timelines of a stack by id, and how many of their spans are there.
std::vector<std::pair<std::int64_t, std::size_t>> loaded_spans(std::span<const StackEntry> stack);

}  // namespace viewer
