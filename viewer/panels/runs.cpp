#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <vector>

#include "db/error.h"
#include "viewer/model/catalog.h"
#include "viewer/model/format.h"
#include "viewer/model/link_maps.h"
#include "viewer/panels/link_charts.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/run_list.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/table.h"

/// Runs with all their columns and, below, the trials of studies.
namespace viewer {

namespace {

constexpr ImGuiTableFlags kTable =
    ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable |
    ImGuiTableFlags_PadOuterX | ImGuiTableFlags_NoBordersInBody | ImGuiTableFlags_SizingStretchProp;

enum RunColumn {
  kId,
  kKind,
  kName,
  kPlanner,
  kDevice,
  kStatus,
  kLayout,
  kRanks,
  kLoss,
  kDuration,
  kTimelines,
  kStarted
};

std::weak_ordering compare(const RunRow& a, const RunRow& b, int column) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  switch (column) {
    case kKind:
      return a.kind <=> b.kind;
    case kName:
      return a.name <=> b.name;
    case kPlanner:
      return a.planner <=> b.planner;
    case kRanks:
      return a.ranks <=> b.ranks;
    case kLayout:
      return a.layout <=> b.layout;
    case kDevice:
      return a.device <=> b.device;
    case kStatus:
      return a.status <=> b.status;
    case kLoss:
      return std::weak_order(a.last_loss.value_or(kNone), b.last_loss.value_or(kNone));
    case kDuration:
      return std::weak_order(a.duration_s, b.duration_s);
    case kTimelines:
      return a.timelines <=> b.timelines;
    case kStarted:
      return std::weak_order(a.started_at, b.started_at);
    default:
      return a.id <=> b.id;
  }
}

void status_cell(const std::string& status, const std::string& error) {
  ImGui::TableNextColumn();
  draw_status_dot(status);
  ImGui::SameLine(0, 4);
  std::string shown = status;
  std::replace(shown.begin(), shown.end(), '_', ' ');
  ImGui::TextUnformatted(shown.c_str());
  if (!error.empty() && is_cell_hovered()) ImGui::SetTooltip("%s", error.c_str());
}

void layout_cell(const std::string& layout) {
  text_cell(divided_text(layout));
  if (!layout.empty() && is_cell_hovered()) ImGui::SetTooltip("%s", layout.c_str());
}

// The rows that were clicked in this frame.
struct Pick {
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> trial;
};

std::vector<const RunRow*> sorted_runs(const RunFilter& filter, const Catalog& catalog) {
  std::vector<const RunRow*> rows;
  for (const RunRow& run : catalog.runs) {
    if (matches(run, filter.words)) rows.push_back(&run);
  }
  const ImGuiTableSortSpecs* order = ImGui::TableGetSortSpecs();
  if (order == nullptr || order->SpecsCount == 0) return rows;
  const ImGuiTableColumnSortSpecs spec = order->Specs[0];
  std::stable_sort(rows.begin(), rows.end(), [&](const RunRow* a, const RunRow* b) {
    const std::weak_ordering less = compare(*a, *b, spec.ColumnIndex);
    return spec.SortDirection == ImGuiSortDirection_Descending ? less > 0 : less < 0;
  });
  return rows;
}

void draw_run_row(const RunRow& run, bool selected, Pick& pick) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (ImGui::Selectable(fmt::format("{}##run", run.id).c_str(), selected,
                        ImGuiSelectableFlags_SpanAllColumns)) {
    pick.run = run.id;
  }
  text_cell(run.kind);
  text_cell(run.name);
  text_cell(run.planner);
  text_cell(run.device);
  status_cell(shown_status(run), run.error.empty() ? sign_of_life_text(run) : run.error);
  layout_cell(run.layout);
  figure_cell(fmt::format("{}", run.ranks));
  figure_cell(run.last_loss ? fmt::format("{:.4f}", *run.last_loss) : "");
  figure_cell(long_duration_text(run.duration_s));
  figure_cell(run.timelines > 0 ? fmt::format("{}", run.timelines) : "");
  figure_cell(instant_text(run.started_at));
}

void draw_runs(const RunFilter& filter, const Session& session, float height, Pick& pick) {
  constexpr std::array kNames = {"run",    "kind",  "name", "planner",  "device",    "status",
                                 "layout", "ranks", "loss", "duration", "timelines", "started"};
  constexpr std::array kWeights = {0.6F, 0.7F, 1.8F, 1.3F, 0.8F, 1.1F,
                                   1.1F, 0.7F, 0.8F, 1.0F, 1.1F, 1.7F};
  if (!ImGui::BeginTable("all runs", kNames.size(), kTable | ImGuiTableFlags_Sortable,
                         {0, height})) {
    return;
  }
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const bool first = i == kStarted;
    const int flags =
        first ? ImGuiTableColumnFlags_DefaultSort | ImGuiTableColumnFlags_PreferSortDescending : 0;
    ImGui::TableSetupColumn(kNames[i], flags, kWeights[i]);
  }
  header_row(kNames, kRanks, true);
  const std::vector<const RunRow*> rows = sorted_runs(filter, session.catalog);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const RunRow& run = *rows[i];
      draw_run_row(run, run.id == session.selected_run, pick);
    }
  }
  end_table();
}

std::string seconds_or_blank(const std::optional<double>& seconds) {
  return seconds ? duration_text(*seconds) : "";
}

std::string bytes_or_blank(const std::optional<std::int64_t>& bytes) {
  return bytes ? bytes_text(static_cast<double>(*bytes)) : "";
}

// Empty for a trial that does not change results.
void changes_cell(const std::string& names) {
  ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kWarning));
  std::string shown = names;
  std::replace(shown.begin(), shown.end(), '_', ' ');
  text_cell(shown);
  ImGui::PopStyleColor();
  if (!names.empty() && is_cell_hovered()) {
    ImGui::SetTooltip("losses and gradients are not those of other schedules");
  }
}

void loss_cells(const db::TrialFigures& figures) {
  figure_cell(figures.last_loss ? fmt::format("{:.4f}", *figures.last_loss) : "");
  ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kWarning));
  figure_cell(loss_change_text(figures));
  ImGui::PopStyleColor();
}

void draw_trial_row(const TrialRow& row, bool fastest, bool shows_losses, Pick& pick) {
  const db::Trial& trial = row.trial;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  if (ImGui::Selectable(fmt::format("{}##trial{}", row.study, trial.id).c_str(), false,
                        ImGuiSelectableFlags_SpanAllColumns)) {
    pick.trial = trial.id;
  }
  layout_cell(row.layout);
  text_cell(trial.planner);
  text_cell(parameters_text(trial.parameters_json));
  status_cell(trial.status, trial.error);
  if (shows_losses) changes_cell(row.figures.changes_results);
  figure_cell(seconds_or_blank(trial.paper_s));
  figure_cell(seconds_or_blank(trial.predicted_s));
  figure_cell(seconds_or_blank(trial.measured_s));
  error_cell(trial);
  bound_cell(row);
  if (fastest) ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kGood));
  speedup_cell(row);
  if (fastest) ImGui::PopStyleColor();
  figure_cell(bytes_or_blank(trial.predicted_peak_bytes));
  figure_cell(bytes_or_blank(trial.measured_peak_bytes));
  if (shows_losses) loss_cells(row.figures);
}

struct TrialColumn {
  const char* name;
  float weight;
  bool of_losses = false;
};
constexpr auto kTrialColumns = std::to_array<TrialColumn>({{"study", 1.25F},
                                                           {"layout", 0.7F},
                                                           {"planner", 1.0F},
                                                           {"parameters", 1.8F},
                                                           {"status", 1.2F},
                                                           {"changes results", 1.5F, true},
                                                           {"paper", 0.9F},
                                                           {"predicted", 1.0F},
                                                           {"measured", 1.05F},
                                                           {"first error", 0.95F},
                                                           {"bound", 0.95F},
                                                           {"speed-up", 1.0F},
                                                           {"pred. peak", 1.1F},
                                                           {"peak", 0.95F},
                                                           {"last loss", 0.85F, true},
                                                           {"to seq.", 0.9F, true}});
constexpr std::size_t kTrialWords = 5;  // columns before the figures

// Columns of losses are shown only where a trial changes results: otherwise all losses are equal.
void draw_trials(const Catalog& catalog, Pick& pick) {
  const bool shows_losses = std::ranges::any_of(
      catalog.trials, [](const TrialRow& row) { return !row.figures.changes_results.empty(); });
  std::vector<const char*> names;
  std::vector<float> weights;
  for (const TrialColumn& column : kTrialColumns) {
    if (column.of_losses && !shows_losses) continue;
    names.push_back(column.name);
    weights.push_back(column.weight);
  }
  if (!ImGui::BeginTable("all trials", static_cast<int>(names.size()), kTable)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    ImGui::TableSetupColumn(names[i], 0, weights[i]);
  }
  header_row(names, kTrialWords + (shows_losses ? 1 : 0));
  const TrialRow* before = nullptr;
  for (const TrialRow& row : catalog.trials) {
    // The list is sorted: the first of a study is its fastest.
    const bool fastest =
        row.figures.speedup && (before == nullptr || before->trial.study_id != row.trial.study_id);
    draw_trial_row(row, fastest, shows_losses, pick);
    before = &row;
  }
  end_table();
}

void title(const Fonts& fonts, const char* text, std::size_t count, const char* hint) {
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted(text);
  ImGui::PopFont();
  ImGui::SameLine();
  ImGui::TextDisabled("%zu    %s", count, hint);
}

// How fast the links of the selected run were; empty for most runs.
struct RunLinks {
  std::int64_t run = 0;
  int catalog_changes = -1;  // of the session when they were read
  std::vector<LinkMap> maps;
};

const std::vector<LinkMap>& maps_of_selected(RunLinks& links, Session& session) {
  if (links.run == session.selected_run && links.catalog_changes == session.catalog_changes) {
    return links.maps;
  }
  links = {session.selected_run, session.catalog_changes, {}};
  try {
    if (links.run != 0) links.maps = load_link_maps(session.connection, links.run);
  } catch (const db::Error& error) {
    session.problem = error.what();
  }
  return links.maps;
}

// Below the runs: the links of the selected one, at the right of the trials where there are any.
void draw_links(const Fonts& fonts, const std::vector<LinkMap>& maps, Rect panel, float share) {
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float em = fonts.text->FontSize, room = ImGui::GetContentRegionAvail().x;
  draw_link_maps(fonts, maps,
                 {{corner.x + room * (1 - share), corner.y + em * 0.5F},
                  {corner.x + room, panel.max.y - em * 0.5F}});
}

void draw_runs(PanelContext& context, Rect area) {
  begin_fixed("tables", area);
  Pick pick;
  const Catalog& catalog = context.session.catalog;
  auto& filter = context.states.of<RunFilter>();
  const bool trials = !catalog.trials.empty();
  const std::vector<LinkMap>& links =
      maps_of_selected(context.states.of<RunLinks>(), context.session);
  title(context.fonts, "Runs", catalog.runs.size(), "click one to look at it");
  if (catalog.runs.empty()) {
    draw_no_runs();
    ImGui::End();
    return;
  }
  draw_filter(filter);
  const float row = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
  const float needed = row * (static_cast<float>(catalog.runs.size()) + 1.5F);
  draw_runs(
      filter, context.session,
      trials || !links.empty() ? std::min(needed, ImGui::GetContentRegionAvail().y * 0.55F) : 0,
      pick);
  if (!links.empty()) draw_links(context.fonts, links, area, trials ? 0.45F : 1.0F);
  if (trials) {
    const float width = links.empty() ? 0 : ImGui::GetContentRegionAvail().x * 0.53F;
    ImGui::BeginChild("below", {width, 0});
    ImGui::Spacing();
    title(context.fonts, "Trials", catalog.trials.size(),
          "click one to see its timelines beside the sequential schedule's");
    draw_trials(catalog, pick);
    ImGui::EndChild();
  }
  ImGui::End();
  if (pick.run) select_run(context.session, *pick.run);
  if (pick.trial) {
    select_trial(context.session, *pick.trial);
    context.next_panel = "timeline";
  }
}

}  // namespace

Panel runs_panel() { return {"runs", "Runs", SideList::none, {}, draw_runs, nullptr}; }

}  // namespace viewer
