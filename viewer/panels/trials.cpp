#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/error.h"
#include "db/load.h"
#include "viewer/model/catalog.h"
#include "viewer/model/format.h"
#include "viewer/model/trial_figures.h"
#include "viewer/model/trial_list.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/run_list.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/scatter.h"
#include "viewer/window/sentence.h"
#include "viewer/window/table.h"

/// The trials of studies as a dashboard: a table to sort and filter, predictions against
/// measurements, and time against memory.
namespace viewer {

namespace {

constexpr double kMilli = 1e-3, kMebi = 1024.0 * 1024;
constexpr const char* kScheduleFile = "schedule.json";

constexpr std::array kTrialKeys = {
    KeyHelp{"click", "a row or a point: stack the timelines of the trial"},
    KeyHelp{"right click", "copy a row as a moe-train line or as schedule JSON"}};

struct TrialPanel {
  TrialFilter filter;
  bool is_hiding_chosen = false;  // by a person; else plans are hidden where others were trained
  int catalog_changes = -1;       // of the session when the repeats were read
  std::map<std::int64_t, std::pair<double, double>> repeats;  // shortest and longest, by trial
};

struct DashboardColumn {
  const char* name;
  float weight;
  TrialOrder order;
  bool sortable = true;
};
constexpr auto kDashboardColumns =
    std::to_array<DashboardColumn>({{"study", 1.2F, TrialOrder::study},
                                    {"planner", 1.1F, TrialOrder::planner},
                                    {"parameters", 2.4F, TrialOrder::planner, false},
                                    {"status", 1.0F, TrialOrder::status},
                                    {"paper", 0.9F, TrialOrder::paper},
                                    {"predicted", 1.3F, TrialOrder::predicted},
                                    {"measured", 0.9F, TrialOrder::measured},
                                    {"repeats", 1.5F, TrialOrder::measured, false},
                                    {"first error", 1.0F, TrialOrder::error},
                                    {"bound", 0.9F, TrialOrder::bound},
                                    {"speed-up", 0.9F, TrialOrder::speedup},
                                    {"peak", 0.9F, TrialOrder::peak}});
constexpr std::size_t kFirstFigure = 4;

void read_repeats(TrialPanel& panel, Session& session) {
  if (panel.catalog_changes == session.catalog_changes) return;
  panel.catalog_changes = session.catalog_changes;
  panel.repeats.clear();
  try {
    for (const TrialRow& row : session.catalog.trials) {
      for (const db::TrialRepeat& repeat :
           db::load_trial_repeats(session.connection, row.trial.id)) {
        const std::pair one(repeat.measured_s, repeat.measured_s);
        auto& [least_s, most_s] = panel.repeats.try_emplace(row.trial.id, one).first->second;
        least_s = std::min(least_s, repeat.measured_s);
        most_s = std::max(most_s, repeat.measured_s);
      }
    }
  } catch (const db::Error& error) {
    session.problem = error.what();
  }
}

std::string time_or_blank(const std::optional<double>& seconds) {
  return seconds ? duration_text(*seconds, 3) : "";
}

std::string predicted_text(const db::Trial& trial) {
  if (!trial.predicted_s || !trial.predicted_deviation_s) return time_or_blank(trial.predicted_s);
  return fmt::format("{} \u00b1 {}", time_or_blank(trial.predicted_s),
                     duration_text(*trial.predicted_deviation_s, 2));
}

std::string repeats_range(const TrialPanel& panel, const db::Trial& trial) {
  const auto found = panel.repeats.find(trial.id);
  if (found == panel.repeats.end()) return "";
  const auto [least_s, most_s] = found->second;
  return least_s == most_s
             ? ""
             : fmt::format("{} - {}", duration_text(least_s, 3), duration_text(most_s, 3));
}

std::string trial_name(const TrialRow& row) {
  const std::string parameters = parameters_text(row.trial.parameters_json);
  return row.trial.planner + (parameters.empty() ? "" : ", " + parameters);
}

void copy_menu(const TrialRow& row, Session& session) {
  if (!ImGui::BeginPopupContextItem()) return;
  try {
    if (ImGui::MenuItem("Copy as a moe-train line")) {
      for (const db::Study& study : db::load_studies(session.connection)) {
        if (study.id != row.trial.study_id) continue;
        ImGui::SetClipboardText(train_line(row, study, kScheduleFile).c_str());
      }
    }
    if (ImGui::MenuItem("Copy its schedule as JSON")) {
      const db::Schedule schedule = db::load_schedule(session.connection, row.trial.schedule_id);
      ImGui::SetClipboardText(schedule.json.c_str());
    }
  } catch (const db::Error& error) {
    session.problem = error.what();
  }
  ImGui::EndPopup();
}

// Whether the row was clicked.
bool draw_dashboard_row(const TrialPanel& panel, const TrialRow& row, Session& session) {
  const db::Trial& trial = row.trial;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const std::string shown = fitting(*ImGui::GetFont(), row.study);
  const bool clicked = ImGui::Selectable(fmt::format("{}##of{}", shown, trial.id).c_str(), false,
                                         ImGuiSelectableFlags_SpanAllColumns);
  copy_menu(row, session);
  text_cell(trial.planner);
  text_cell(parameters_text(trial.parameters_json));
  ImGui::TableNextColumn();
  draw_status_dot(trial.status);
  ImGui::SameLine(0, 4);
  ImGui::TextUnformatted(trial.status.c_str());
  if (!trial.error.empty() && is_cell_hovered()) ImGui::SetTooltip("%s", trial.error.c_str());
  figure_cell(time_or_blank(trial.paper_s));
  figure_cell(predicted_text(trial));
  figure_cell(time_or_blank(trial.measured_s));
  figure_cell(repeats_range(panel, trial));
  error_cell(trial);
  bound_cell(row);
  speedup_cell(row);
  const auto peak =
      trial.measured_peak_bytes ? trial.measured_peak_bytes : trial.predicted_peak_bytes;
  figure_cell(peak ? bytes_text(static_cast<double>(*peak)) : "");
  return clicked;
}

void sort_as_asked(std::vector<const TrialRow*>& rows) {
  const ImGuiTableSortSpecs* asked = ImGui::TableGetSortSpecs();
  if (asked == nullptr || asked->SpecsCount == 0) return;
  const ImGuiTableColumnSortSpecs spec = asked->Specs[0];
  sort_trials(rows, kDashboardColumns[static_cast<std::size_t>(spec.ColumnIndex)].order,
              spec.SortDirection == ImGuiSortDirection_Descending);
}

// The trial that was clicked.
const TrialRow* draw_dashboard_table(const TrialPanel& panel, std::vector<const TrialRow*>& rows,
                                     Session& session, float height) {
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable |
      ImGuiTableFlags_PadOuterX | ImGuiTableFlags_NoBordersInBody |
      ImGuiTableFlags_SizingStretchProp | ImGuiTableFlags_Sortable | ImGuiTableFlags_SortTristate;
  const TrialRow* picked = nullptr;
  if (!ImGui::BeginTable("trials", static_cast<int>(kDashboardColumns.size()), kFlags,
                         {0, height})) {
    return picked;
  }
  ImGui::TableSetupScrollFreeze(0, 1);
  std::vector<const char*> names;
  for (const DashboardColumn& column : kDashboardColumns) {
    ImGui::TableSetupColumn(column.name, column.sortable ? 0 : ImGuiTableColumnFlags_NoSort,
                            column.weight);
    names.push_back(column.name);
  }
  header_row(names, kFirstFigure, true);
  sort_as_asked(rows);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const TrialRow& row = *rows[static_cast<std::size_t>(i)];
      if (draw_dashboard_row(panel, row, session)) picked = &row;
    }
  }
  end_table();
  return picked;
}

// Of several studies each has a colour of its own, as its times are of another model or network.
Color point_color(const std::vector<std::string>& studies, const TrialRow& row, Color alone) {
  if (studies.size() < 2) return alone;
  constexpr std::array kColors = {theme::kAccent, theme::kWarning, theme::kGood, theme::kBad,
                                  theme::kText};
  const auto at = std::find(studies.begin(), studies.end(), row.study) - studies.begin();
  return kColors[static_cast<std::size_t>(at) % kColors.size()];
}

std::string study_line(const std::vector<std::string>& studies, const TrialRow& row) {
  return studies.size() < 2 ? "" : row.study + "\n";
}

constexpr const char* kColorsAreStudies = "colours: studies";

ScatterChart prediction_chart(const TrialPanel& panel, const std::vector<const TrialRow*>& rows,
                              std::vector<const TrialRow*>& shown) {
  const std::vector<std::string> studies = studies_of(rows);
  ScatterChart chart;
  chart.title = "Predicted against measured";
  chart.x_label = "predicted, ms";
  chart.y_label = "measured, ms";
  chart.diagonal = true;
  chart.empty_text = "no trial was predicted and measured";
  if (studies.size() > 1) chart.line_name = kColorsAreStudies;
  for (const TrialRow* row : rows) {
    const db::Trial& trial = row->trial;
    if (!trial.predicted_s || !trial.measured_s) continue;
    ScatterPoint point{*trial.predicted_s / kMilli, *trial.measured_s / kMilli};
    const double deviation = trial.predicted_deviation_s.value_or(0) / kMilli;
    if (deviation > 0) point.x_range = std::pair(point.x - deviation, point.x + deviation);
    if (const auto found = panel.repeats.find(trial.id); found != panel.repeats.end()) {
      point.y_range = std::pair(found->second.first / kMilli, found->second.second / kMilli);
    }
    point.color = point_color(studies, *row,
                              trial.planner == db::kSequential ? theme::kMuted : theme::kAccent);
    point.text =
        fmt::format("{}{}\npredicted {}, measured {}", study_line(studies, *row), trial_name(*row),
                    predicted_text(trial), duration_text(*trial.measured_s, 3));
    chart.points.push_back(std::move(point));
    shown.push_back(row);
  }
  return chart;
}

ScatterChart memory_chart(const std::vector<const TrialRow*>& rows,
                          std::vector<const TrialRow*>& shown) {
  ScatterChart chart;
  chart.title = "Time against peak memory";
  chart.x_label = "time of an iteration, ms";
  chart.y_label = "peak memory of a rank, MiB";
  const std::vector<std::string> studies = studies_of(rows);
  // Neither is of several studies together: the trials of another train another model.
  const bool is_of_one = studies.size() < 2;
  chart.line_name = is_of_one ? "Pareto front" : kColorsAreStudies;
  chart.least_name = "lowest bound";
  chart.empty_text = "no trial has a time and a peak";
  for (const TrialRow* row : rows) {
    const auto cost = cost_of(*row);
    if (const auto bound = bound_of(*row); bound && is_of_one) {
      chart.least_x =
          std::min(chart.least_x.value_or(bound->seconds / kMilli), bound->seconds / kMilli);
    }
    if (!cost) continue;
    ScatterPoint point{cost->seconds / kMilli, cost->bytes / kMebi};
    point.hollow = !cost->measured;
    point.color = point_color(studies, *row, cost->measured ? theme::kAccent : theme::kMuted);
    point.text = fmt::format("{}{}\n{}, {} ({})", study_line(studies, *row), trial_name(*row),
                             duration_text(cost->seconds, 3), bytes_text(cost->bytes),
                             cost->measured ? "measured" : "predicted");
    chart.points.push_back(std::move(point));
    shown.push_back(row);
  }
  // The front as steps: as little memory as that of a trial is possible from its time on.
  for (const TrialRow* row : is_of_one ? pareto_front(rows) : std::vector<const TrialRow*>()) {
    const auto cost = cost_of(*row);
    const double x = cost->seconds / kMilli, y = cost->bytes / kMebi;
    if (!chart.line.empty()) chart.line.emplace_back(x, chart.line.back().second);
    chart.line.emplace_back(x, y);
  }
  return chart;
}

// The trial whose point was clicked.
const TrialRow* draw_trial_charts(const TrialPanel& panel, const Fonts& fonts,
                                  const std::vector<const TrialRow*>& rows, Rect area) {
  const float gap = fonts.text->FontSize * 2;
  const float width = (area.width() - gap) / 2;
  std::vector<const TrialRow*> compared, weighed;
  const ScatterChart predictions = prediction_chart(panel, rows, compared);
  const ScatterChart memory = memory_chart(rows, weighed);
  const auto left = draw_scatter(fonts, predictions, {area.min, {area.min.x + width, area.max.y}});
  const auto right =
      draw_scatter(fonts, memory, {{area.min.x + width + gap, area.min.y}, area.max});
  if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return nullptr;
  if (left) return compared[*left];
  return right ? weighed[*right] : nullptr;
}

// Says what the filter hides, and shows it by a click.
void draw_hidden(TrialPanel& panel, std::size_t hidden) {
  if (hidden == 0) return;
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s.", hidden_text(hidden).c_str());
  ImGui::SameLine();
  if (!ImGui::SmallButton(hidden == 1 ? "Show it" : "Show them")) return;
  panel.filter.hides_planned = false;
  panel.is_hiding_chosen = true;
}

void draw_trial_filter(TrialPanel& panel, const Catalog& catalog) {
  const float em = ImGui::GetFontSize();
  std::vector<std::string> studies;
  for (const TrialRow& row : catalog.trials) {
    if (studies.empty() || studies.back() != row.study) studies.push_back(row.study);
  }
  ImGui::SetNextItemWidth(em * 14);
  const std::string shown = panel.filter.study.empty() ? "all studies" : panel.filter.study;
  if (ImGui::BeginCombo("##study", shown.c_str())) {
    if (ImGui::Selectable("all studies", panel.filter.study.empty())) panel.filter.study.clear();
    for (const std::string& study : studies) {
      if (ImGui::Selectable(study.c_str(), study == panel.filter.study)) panel.filter.study = study;
    }
    ImGui::EndCombo();
  }
  ImGui::SameLine();
  // Where nothing was trained yet, plans are all there is.
  if (!panel.is_hiding_chosen) {
    panel.filter.hides_planned = has_trained(catalog, panel.filter.study);
  }
  if (ImGui::Checkbox("hide what was only planned", &panel.filter.hides_planned)) {
    panel.is_hiding_chosen = true;
  }
  ImGui::SameLine();
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##trials", "filter: words of planner, parameters, status ...",
                           &panel.filter.words);
}

void draw_trial_dashboard(PanelContext& context, Rect area) {
  auto& panel = context.states.of<TrialPanel>();
  const Fonts& fonts = context.fonts;
  begin_fixed("dashboard", area);
  Session& session = context.session;
  if (session.catalog.trials.empty()) {
    ImGui::TextDisabled("This database holds no trials yet: moe-tune study makes them.");
    ImGui::End();
    return;
  }
  read_repeats(panel, session);
  draw_trial_filter(panel, session.catalog);
  std::vector<const TrialRow*> rows = listed_trials(session.catalog, panel.filter);
  const float row_px = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
  const float needed = row_px * (static_cast<float>(rows.size()) + 1.5F);
  const float room = ImGui::GetContentRegionAvail().y;
  const std::vector<const TrialRow*> listed = rows;  // the table sorts its own
  const TrialRow* picked =
      draw_dashboard_table(panel, rows, session, std::min(needed, room * 0.55F));
  if (rows.empty()) ImGui::TextDisabled("No trial is listed.");
  draw_sentence(verdict_text(session.catalog, listed));
  draw_hidden(panel, hidden_planned(session.catalog, panel.filter));
  const ImVec2 corner = ImGui::GetCursorScreenPos(), left = ImGui::GetContentRegionAvail();
  const float top = corner.y + fonts.text->FontSize * 0.6F;
  const TrialRow* pointed = draw_trial_charts(
      panel, fonts, rows, {{corner.x, top}, {corner.x + left.x, corner.y + left.y}});
  ImGui::End();
  if (picked == nullptr) picked = pointed;
  if (picked == nullptr) return;
  select_trial(session, picked->trial.id);
  context.next_panel = "timeline";
}

}  // namespace

Panel trials_panel() {
  return {"trials", "Trials", SideList::none, kTrialKeys, draw_trial_dashboard, nullptr};
}

}  // namespace viewer
