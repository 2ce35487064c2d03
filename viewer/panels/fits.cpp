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
#include "viewer/model/format.h"
#include "viewer/model/timeline.h"
#include "viewer/panels/fit_charts.h"
#include "viewer/panels/fit_choice.h"
#include "viewer/panels/panels.h"
#include "viewer/window/fixed_window.h"
#include "viewer/window/table.h"

/// The lines t = alpha + n / rate from which costs are predicted: the newest fit of each op,
/// machine, network and number of nodes.
namespace viewer {

namespace {

constexpr double kPoor = 0.25;  // a sample this far off its line makes the fit doubtful

struct FitPanel {
  int catalog_changes = -1;  // of the session when `fits` were read
  int stack_changes = -1;    // of the session when the samples were read
  std::vector<db::Fit> fits;
  std::vector<db::Measurement> measurements;
  std::map<std::int64_t, db::RunPlace> places;  // of the runs of both
  InterferenceMatrix interference;
  std::string op;             // part of the name of each op that is listed
  std::int64_t selected = 0;  // the fit whose samples are shown
  std::vector<FitSample> fitted, stacked;
  std::int64_t sampled = 0;  // the fit that the samples are of
};

void refresh(FitPanel& panel, Session& session) {
  if (panel.stack_changes != session.stack_changes) panel.sampled = 0;
  panel.stack_changes = session.stack_changes;
  if (panel.catalog_changes == session.catalog_changes) return;
  panel.catalog_changes = session.catalog_changes;
  try {
    panel.fits = db::load_latest_fits(session.connection);
    panel.measurements = db::load_measurements(session.connection);
    panel.places = db::load_run_places(session.connection);
    panel.interference = interference_matrix(panel.measurements, panel.places);
    panel.sampled = 0;
  } catch (const db::Error& error) {
    session.problem = error.what();
  }
}

// Shows the fit of a kind of op. Of several, the one with most samples; of a linear layer that has
// none, that of matrix products.
void choose_asked(FitPanel& panel, const std::string& kind) {
  const bool is_product = kind.find("linear") != std::string::npos;
  panel.op = kind;
  panel.selected = 0;
  for (const std::string& name : {kind, std::string(is_product ? "gemm" : base_kind(kind))}) {
    const db::Fit* best = nullptr;
    for (const db::Fit& fit : panel.fits) {
      if (fit.op == name && (best == nullptr || fit.samples > best->samples)) best = &fit;
    }
    if (best == nullptr) continue;
    panel.op = name;
    panel.selected = best->id;
    return;
  }
}

std::string units_text(double units, const std::string& unit) {
  if (unit == "byte") return bytes_text(units);
  return unit == "flop" ? flops_text(units) : fmt::format("{:.4g} {}", units, unit);
}

std::string rate_text(const db::Fit& fit) {
  if (!(fit.beta_s_per_unit > 0)) return "-";
  if (fit.unit == "byte") return bandwidth_text(1, fit.beta_s_per_unit);
  if (fit.unit == "flop") return flop_rate_text(1, fit.beta_s_per_unit);
  return fmt::format("{:.4g} {}/s", 1 / fit.beta_s_per_unit, fit.unit);
}

std::string start_up_text(const db::Fit& fit) {
  if (fit.samples < 2 && fit.alpha_s == 0) return "-";  // one sample tells none
  const std::string start_up = duration_text(fit.alpha_s, 3);
  if (!fit.alpha_error_s) return start_up;
  return fmt::format("{} \u00b1 {}", start_up, duration_text(*fit.alpha_error_s, 2));
}

// Older fits were not judged: then the sample farthest from the line tells.
bool is_doubtful(const db::Fit& fit) {
  if (!fit.verdict.empty()) return fit.verdict != "good";
  return fit.samples > 1 && fit.max_relative_residual > kPoor;
}

// An R2 below 0 is worse than no line at all.
std::string r2_text(double r2) { return r2 < 0 ? "< 0" : fmt::format("{:.3f}", r2); }

// Whether the row was clicked.
bool draw_fit(const db::Fit& fit, bool selected) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const std::string shown = fitting(*ImGui::GetFont(), fit.op);
  const bool clicked = ImGui::Selectable(fmt::format("{}##{}", shown, fit.id).c_str(), selected,
                                         ImGuiSelectableFlags_SpanAllColumns);
  explain_cut(fit.op, shown);
  text_cell(fit.device);
  text_cell(fit.link);
  text_cell(fit.network);
  const bool doubtful = is_doubtful(fit);
  if (doubtful) ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kWarning));
  text_cell(fit.verdict);
  if (doubtful) ImGui::PopStyleColor();
  figure_cell(fmt::format("{}", fit.ranks));
  figure_cell(fit.nodes > 0 ? fmt::format("{}", fit.nodes) : "");
  figure_cell(start_up_text(fit));
  figure_cell(rate_text(fit));
  figure_cell(units_text(fit.min_units, fit.unit));
  figure_cell(units_text(fit.max_units, fit.unit));
  figure_cell(fmt::format("{}", fit.samples));
  figure_cell(fit.outliers > 0 ? fmt::format("{}", fit.outliers) : "");
  // A line that its samples could not be off of has no deviation and an R2 of 0. Older fits have no
  // deviation at all.
  const bool tested = fit.relative_deviation || (fit.samples > 2 && fit.r2 != 0);
  figure_cell(tested ? r2_text(fit.r2) : "");
  if (doubtful) ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kWarning));
  figure_cell(tested ? percent_text(fit.max_relative_residual) : "");
  if (doubtful) ImGui::PopStyleColor();
  return clicked;
}

void draw_fits(FitPanel& panel, float height) {
  constexpr std::array kNames = {"op",    "device",  "link",     "network", "verdict",
                                 "ranks", "nodes",   "start-up", "rate",    "from",
                                 "to",    "samples", "outliers", "R\u00b2", "worst"};
  constexpr std::array kWeights = {2.4F, 0.6F, 0.9F, 1.2F, 1.6F, 0.6F, 0.6F, 1.5F,
                                   1.1F, 0.9F, 0.9F, 0.8F, 0.8F, 0.6F, 0.7F};
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_PadOuterX |
                                     ImGuiTableFlags_NoBordersInBody |
                                     ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("fits", static_cast<int>(kNames.size()), kFlags, {0, height})) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    ImGui::TableSetupColumn(kNames[i], 0, kWeights[i]);
  }
  header_row(kNames, 5);
  for (const db::Fit& fit : panel.fits) {
    if (fit.op.find(panel.op) == std::string::npos) continue;
    if (draw_fit(fit, fit.id == panel.selected)) panel.selected = fit.id;
  }
  end_table();
}

// What the fit was fitted to: rows of moe-bench, or spans of a study's profile.
void read_samples(FitPanel& panel, const db::Fit& fit, Session& session) {
  panel.fitted = measured_samples(fit, panel.measurements, panel.places);
  if (!panel.fitted.empty()) return;
  try {
    panel.fitted = profile_samples(session.connection, fit);
  } catch (const db::Error& error) {
    session.problem = error.what();
  }
}

// The charts of the selected fit, or of the first one listed with enough samples to be a line.
void draw_charts_below(FitPanel& panel, Session& session, const Fonts& fonts, Rect area) {
  const auto shown = std::find_if(panel.fits.begin(), panel.fits.end(), [&](const db::Fit& fit) {
    const bool listed = fit.op.find(panel.op) != std::string::npos;
    return panel.selected != 0 ? fit.id == panel.selected : listed && fit.samples > 2;
  });
  if (shown != panel.fits.end()) {
    if (panel.sampled != shown->id) {
      read_samples(panel, *shown, session);
      panel.stacked = stacked_samples(*shown, session);
      panel.sampled = shown->id;
    }
    Rect charts = area;
    if (!panel.interference.activities.empty()) charts.max.x -= area.width() * 0.32F;
    draw_fit_charts(fonts, *shown, panel.fitted, panel.stacked, charts);
  }
  if (panel.interference.activities.empty()) return;
  const float left = area.max.x - area.width() * 0.3F;
  draw_interference(fonts, panel.interference, {{left, area.min.y}, area.max});
}

void draw_fits(PanelContext& context, Rect area) {
  auto& panel = context.states.of<FitPanel>();
  refresh(panel, context.session);
  std::string& asked = context.states.of<FitChoice>().op;
  if (!asked.empty()) choose_asked(panel, std::exchange(asked, ""));
  begin_fixed("fits", area);
  ImGui::PushFont(context.fonts.bold);
  ImGui::TextUnformatted("Fits");
  ImGui::PopFont();
  ImGui::SameLine();
  ImGui::TextDisabled("%zu    time = start-up + size / rate; the newest fit of each op and network",
                      panel.fits.size());
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##op", "filter: part of an op's name", &panel.op);
  if (panel.fits.empty()) {
    ImGui::TextDisabled("No fits yet: moe-tune fit and moe-tune study make them.");
  } else {
    const float em = context.fonts.text->FontSize;
    const float room = ImGui::GetContentRegionAvail().y;
    const float charts = room > em * 28 ? room * 0.42F : 0;
    draw_fits(panel, room - charts - (charts > 0 ? em : 0));
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    if (charts > 0) {
      const Rect below{{corner.x, corner.y + em * 0.5F},
                       {corner.x + ImGui::GetContentRegionAvail().x, area.max.y - em * 0.5F}};
      draw_charts_below(panel, context.session, context.fonts, below);
    }
  }
  ImGui::End();
}

}  // namespace

Panel fits_panel() { return {"fits", "Fits", SideList::none, {}, draw_fits, nullptr}; }

}  // namespace viewer
