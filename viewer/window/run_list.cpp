#include "viewer/window/run_list.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>

#include "viewer/model/format.h"
#include "viewer/window/plot.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

std::string loss_text(const RunRow& run) {
  return run.loss ? fmt::format("{:.4f}", *run.loss) : "";
}

// A row that is a button over all its columns; the rest of the row is drawn after it.
bool row_button(const std::string& label, bool selected) {
  return ImGui::Selectable(label.c_str(), selected, ImGuiSelectableFlags_SpanAllColumns);
}

RunPick draw_narrow_runs(RunPanel& panel, const Fonts& fonts, const Catalog& catalog,
                         float height) {
  RunPick pick;
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg;
  if (!ImGui::BeginTable("runs", 4, kFlags, {0, height})) return pick;
  ImGui::TableSetupScrollFreeze(0, 1);
  const float em = fonts.text->FontSize;
  ImGui::TableSetupColumn("run", ImGuiTableColumnFlags_WidthFixed, em * 3.4F);
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch, 1.2F);
  ImGui::TableSetupColumn("planner", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("loss", ImGuiTableColumnFlags_WidthFixed, em * 3.4F);
  constexpr std::array kNames = {"run", "name", "planner", "loss"};
  header_row(kNames, 3);
  for (const RunRow& run : catalog.runs) {
    if (!matches(run, panel.filter)) continue;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    draw_status_dot(run.status);
    ImGui::SameLine(0, 4);
    if (row_button(fmt::format("{}##run", run.id), run.id == panel.selected)) pick.run = run.id;
    if (ImGui::IsItemHovered()) {
      ImGui::SetTooltip("run %lld: %s %s\n%s, %s\n%d ranks on %s, %s%s%s",
                        static_cast<long long>(run.id), run.kind.c_str(), run.name.c_str(),
                        instant_text(run.started_at).c_str(),
                        long_duration_text(run.duration_s).c_str(), run.ranks, run.device.c_str(),
                        run.status.c_str(), run.error.empty() ? "" : ": ", run.error.c_str());
    }
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(elided(*fonts.text, run.name, ImGui::GetContentRegionAvail().x).c_str());
    ImGui::TableNextColumn();
    ImGui::TextDisabled("%s", run.planner.empty() ? run.kind.c_str() : run.planner.c_str());
    figure_cell(loss_text(run));
  }
  ImGui::EndTable();
  return pick;
}

bool draw_timeline_choice(RunPanel& panel, const Fonts& fonts, const Catalog& catalog,
                          const db::Timeline& timeline) {
  const auto at = std::find(panel.stacked.begin(), panel.stacked.end(), timeline.id);
  bool shown = at != panel.stacked.end();
  const std::string title = timeline_title(catalog, timeline);
  const std::string facts =
      fmt::format("{} {}", timeline.kind, duration_text(timeline.duration_s, 3));
  const float left = ImGui::GetCursorPosX();
  const float right = left + ImGui::GetContentRegionAvail().x - text_width(*fonts.small, facts);
  const float box = ImGui::GetFrameHeight() + ImGui::GetStyle().ItemInnerSpacing.x;
  const float room = right - left - box - fonts.text->FontSize;
  const std::string label = fmt::format("{}##{}", elided(*fonts.text, title, room), timeline.id);
  const bool changed = ImGui::Checkbox(label.c_str(), &shown);
  if (ImGui::IsItemHovered()) {
    const std::string run = timeline.run_id ? fmt::format(" of run {}", *timeline.run_id) : "";
    ImGui::SetTooltip("%s\ntimeline %lld%s, iteration %d\n%s", title.c_str(),
                      static_cast<long long>(timeline.id), run.c_str(), timeline.iteration,
                      facts.c_str());
  }
  ImGui::SameLine(right);
  ImGui::PushFont(fonts.small);
  ImGui::TextDisabled("%s", facts.c_str());
  ImGui::PopFont();
  if (!changed) return false;
  if (shown) {
    panel.stacked.push_back(timeline.id);
  } else {
    panel.stacked.erase(at);
  }
  return true;
}

bool draw_timeline_choices(RunPanel& panel, const Fonts& fonts, const Catalog& catalog) {
  bool changed = false;
  const std::vector<const db::Timeline*> own = timelines_of(catalog, panel.selected);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {3, 2});
  for (const db::Timeline* timeline : own)
    changed |= draw_timeline_choice(panel, fonts, catalog, *timeline);
  if (own.empty()) ImGui::TextDisabled("This run has no timeline.");
  if (own.size() < catalog.timelines.size()) {
    ImGui::Spacing();
    ImGui::TextDisabled("of other runs, to stack beside them");
  }
  for (const db::Timeline& timeline : catalog.timelines) {
    const bool listed = std::find(own.begin(), own.end(), &timeline) != own.end();
    if (!listed) changed |= draw_timeline_choice(panel, fonts, catalog, timeline);
  }
  ImGui::PopStyleVar();
  return changed;
}

}  // namespace

void draw_status_dot(const std::string& status) {
  const float em = ImGui::GetTextLineHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddCircleFilled({at.x + em * 0.35F, at.y + em * 0.5F}, em * 0.26F,
                                              to_u32(status_color(status.c_str())));
  ImGui::Dummy({em * 0.7F, em});
}

void draw_filter(RunPanel& panel) {
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##filter", "filter: words of id, name, planner, status ...",
                           &panel.filter);
}

RunPick draw_run_list(RunPanel& panel, const Fonts& fonts, const Catalog& catalog) {
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted("Runs");
  ImGui::PopFont();
  ImGui::SameLine();
  ImGui::TextDisabled("%zu", catalog.runs.size());
  draw_filter(panel);
  const float row = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
  const float needed = row * (static_cast<float>(catalog.runs.size()) + 1.5F);
  RunPick pick = draw_narrow_runs(panel, fonts, catalog,
                                  std::min(needed, ImGui::GetContentRegionAvail().y * 0.55F));
  ImGui::Spacing();
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted("Timelines");
  ImGui::PopFont();
  ImGui::SameLine();
  ImGui::TextDisabled("ticked ones are stacked");
  ImGui::BeginChild("choices");
  pick.stack_changed = draw_timeline_choices(panel, fonts, catalog);
  ImGui::EndChild();
  return pick;
}

}  // namespace viewer
