#include "viewer/panels/run_list.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "viewer/model/catalog.h"
#include "viewer/model/format.h"
#include "viewer/model/trial_figures.h"
#include "viewer/model/trial_list.h"
#include "viewer/window/plot.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

void explained_cell(const std::string& figure, const std::string& explanation, bool warns = false) {
  if (warns) ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kWarning));
  figure_cell(figure);
  if (warns) ImGui::PopStyleColor();
  if (!explanation.empty() && is_cell_hovered()) ImGui::SetTooltip("%s", explanation.c_str());
}

std::string loss_text(const RunRow& run) {
  return run.last_loss ? fmt::format("{:.4f}", *run.last_loss) : "";
}

// A row that is a button over all its columns; the rest of the row is drawn after it.
bool row_button(const std::string& label, bool selected) {
  return ImGui::Selectable(label.c_str(), selected, ImGuiSelectableFlags_SpanAllColumns);
}

void run_tooltip(const RunRow& run) {
  const std::string alive = sign_of_life_text(run);
  const std::string status = shown_status(run) + (alive.empty() ? "" : ", " + alive);
  ImGui::SetTooltip("run %lld: %s %s\n%s, %s\n%d ranks on %s%s%s%s%s, %s%s%s",
                    static_cast<long long>(run.id), run.kind.c_str(), run.name.c_str(),
                    instant_text(run.started_at).c_str(),
                    long_duration_text(run.duration_s).c_str(), run.ranks, run.device.c_str(),
                    run.network.empty() ? "" : ", network: ", run.network.c_str(),
                    run.layout.empty() ? "" : ", layout ", run.layout.c_str(), status.c_str(),
                    run.error.empty() ? "" : ": ", run.error.c_str());
}

// The run that was clicked.
std::optional<std::int64_t> draw_narrow_runs(const RunFilter& filter, const Fonts& fonts,
                                             const Session& session, float height) {
  std::optional<std::int64_t> picked;
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg;
  if (!ImGui::BeginTable("runs", 4, kFlags, {0, height})) return picked;
  ImGui::TableSetupScrollFreeze(0, 1);
  const float em = fonts.text->FontSize;
  ImGui::TableSetupColumn("run", ImGuiTableColumnFlags_WidthFixed, em * 3.4F);
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch, 1.2F);
  ImGui::TableSetupColumn("planner", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("loss", ImGuiTableColumnFlags_WidthFixed, em * 3.4F);
  constexpr std::array kNames = {"run", "name", "planner", "loss"};
  header_row(kNames, 3);
  for (const RunRow& run : session.catalog.runs) {
    if (!matches(run, filter.words)) continue;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    draw_status_dot(shown_status(run));
    ImGui::SameLine(0, 4);
    if (row_button(fmt::format("{}##run", run.id), run.id == session.selected_run)) picked = run.id;
    if (is_cell_hovered()) run_tooltip(run);
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(fitting(*fonts.text, run.name).c_str());
    ImGui::TableNextColumn();
    const std::string& by = run.planner.empty() ? run.kind : run.planner;
    ImGui::TextDisabled("%s", fitting(*fonts.text, by).c_str());
    figure_cell(loss_text(run));
  }
  end_table();
  return picked;
}

// Whether the timeline was ticked or unticked.
bool draw_timeline_choice(Session& session, const Fonts& fonts, const db::TimelineInfo& timeline) {
  const auto at = std::find(session.stacked.begin(), session.stacked.end(), timeline.id);
  bool shown = at != session.stacked.end();
  const std::string title = timeline_title(session.catalog, timeline);
  const std::string source = timeline_source(session.catalog, timeline);
  const std::string facts = fmt::format("{}{}{} {}", source, source.empty() ? "" : ", ",
                                        timeline.kind, duration_text(timeline.duration_s, 3));
  const std::string label = fmt::format("##{}", timeline.id);
  ImGui::BeginGroup();
  const bool changed = ImGui::Checkbox(label.c_str(), &shown);
  ImGui::SameLine();
  const float room = ImGui::GetContentRegionAvail().x;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float line = ImGui::GetTextLineHeight();
  draw_text(draw, *fonts.text, corner.x, corner.y + line * 0.55F, 0, theme::kText,
            elided(*fonts.text, title, room));
  draw_text(draw, *fonts.small, corner.x, corner.y + line * 1.5F, 0, theme::kMuted,
            elided(*fonts.small, facts, room));
  ImGui::Dummy({room, line * 2.1F});
  ImGui::EndGroup();
  const bool hovered = ImGui::IsItemHovered();
  if (hovered) {
    ImGui::SetTooltip("timeline %lld\n%s\n%s%s%s", static_cast<long long>(timeline.id),
                      title.c_str(), facts.c_str(), timeline.label.empty() ? "" : "\n",
                      timeline.label.c_str());
  }
  // A click on the words does the same as a click on the box.
  const bool clicked = hovered && !changed && ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
                       ImGui::GetIO().MousePos.x >= corner.x;
  if (!changed && !clicked) return false;
  if (at == session.stacked.end()) {
    session.stacked.push_back(timeline.id);
  } else {
    session.stacked.erase(at);
  }
  return true;
}

bool draw_timeline_choices(Session& session, const Fonts& fonts) {
  bool changed = false;
  const std::vector<const db::TimelineInfo*> own =
      timelines_of(session.catalog, session.selected_run);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {scaled_px(3), scaled_px(2)});
  for (const db::TimelineInfo* timeline : own) {
    changed |= draw_timeline_choice(session, fonts, *timeline);
  }
  if (own.empty() && !session.catalog.runs.empty()) {
    ImGui::TextDisabled("This run has no timeline.");
  }
  if (own.size() < session.catalog.timelines.size()) {
    ImGui::Spacing();
    ImGui::TextDisabled("of other runs");
  }
  for (const db::TimelineInfo& timeline : session.catalog.timelines) {
    const bool listed = std::find(own.begin(), own.end(), &timeline) != own.end();
    if (!listed) changed |= draw_timeline_choice(session, fonts, timeline);
  }
  ImGui::PopStyleVar();
  return changed;
}

void draw_heading(const Fonts& fonts, const char* title, const std::string& hint) {
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted(title);
  ImGui::PopFont();
  ImGui::SameLine();
  ImGui::TextDisabled("%s", hint.c_str());
}

}  // namespace

void draw_status_dot(const std::string& status) {
  const float em = ImGui::GetTextLineHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddCircleFilled({at.x + em * 0.35F, at.y + em * 0.5F}, em * 0.26F,
                                              to_u32(status_color(status.c_str())));
  ImGui::Dummy({em * 0.7F, em});
}

void error_cell(const db::Trial& trial) {
  figure_cell(prediction_error_text(trial));
  const std::string of = error_explanation(trial);
  if (!of.empty() && is_cell_hovered()) ImGui::SetTooltip("%s", of.c_str());
}

void bound_cell(const TrialRow& row) {
  const std::optional<TrialBound> bound = bound_of(row);
  explained_cell(bound ? duration_text(bound->seconds, 3) : "", bound_explanation(row),
                 bound && bound->is_broken);
}

void speedup_cell(const TrialRow& row) {
  const db::TrialFigures& figures = row.figures;
  explained_cell(figures.speedup ? fmt::format("{:.2f}x", *figures.speedup) : "",
                 figures.speedup ? speedup_explanation(row) : "");
}

void draw_no_runs() {
  ImGui::TextDisabled(
      "This database holds no runs yet: moe-train, moe-tune study and moe-bench write them with "
      "--db.");
}

void draw_filter(RunFilter& filter) {
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##filter", "filter: words of id, name, planner, status ...",
                           &filter.words);
}

void draw_run_list(Session& session, const Fonts& fonts, RunFilter& filter, bool with_timelines) {
  draw_heading(fonts, "Runs", fmt::format("{}", session.catalog.runs.size()));
  draw_filter(filter);
  const float row = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
  const float needed = row * (static_cast<float>(session.catalog.runs.size()) + 1.5F);
  const float room = ImGui::GetContentRegionAvail().y * (with_timelines ? 0.45F : 1);
  const std::optional<std::int64_t> picked =
      draw_narrow_runs(filter, fonts, session, std::min(needed, room));
  bool restacked = false;
  if (with_timelines) {
    ImGui::Spacing();
    draw_heading(fonts, "Timelines", "ticked ones are stacked");
    ImGui::BeginChild("choices");
    restacked = draw_timeline_choices(session, fonts);
    ImGui::EndChild();
  }
  if (restacked) load_stack(session);
  if (picked) select_run(session, *picked);
}

}  // namespace viewer
