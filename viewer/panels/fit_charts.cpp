#include "viewer/panels/fit_charts.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "db/fit_curve.h"
#include "viewer/model/format.h"
#include "viewer/window/heat_map.h"
#include "viewer/window/scatter.h"

namespace viewer {

namespace {

constexpr std::size_t kMostMarks = 64;  // sizes of a timeline

double units_of(const db::Fit& fit, double bytes, double flops) {
  if (fit.unit == "byte") return bytes;
  return fit.unit == "flop" ? flops : 0;
}

std::string axis_label(const db::Fit& fit) {
  return fit.unit == "byte" ? "bytes" : fit.unit == "flop" ? "FLOPs" : fit.unit;
}

std::string residual_text(double residual) { return fmt::format("{:+.1f}%", residual * 100); }

ScatterPoint fit_point(const FitSample& sample, Color color, bool hollow, double y,
                       double residual) {
  ScatterPoint point{sample.units, y};
  point.color = color;
  point.hollow = hollow;
  point.text = fmt::format("{:.4g} in {}, {} off{}", sample.units, duration_text(sample.seconds, 3),
                           residual_text(residual), sample.is_outlier ? "; left out" : "");
  return point;
}

ScatterChart line_chart_of(const db::Fit& fit, const std::vector<FitSample>& stacked) {
  ScatterChart chart;
  chart.title = fit.op;
  chart.x_label = axis_label(fit);
  chart.y_label = "seconds";
  chart.log_x = chart.log_y = true;
  chart.line_name = fit.points_json.empty() ? "start-up + size / rate" : "time by size";
  for (const FitSample& sample : stacked) chart.marked_x.push_back(sample.units);
  double low = fit.min_units, high = fit.max_units;
  for (const FitSample& sample : stacked) {
    low = std::min(low, sample.units), high = std::max(high, sample.units);
  }
  if (!(low > 0)) low = high / 1e3;
  constexpr int kSteps = 48;
  for (int i = 0; i <= kSteps && high > 0; ++i) {
    const double units = low * std::pow(high / low, static_cast<double>(i) / kSteps);
    const double seconds = db::fitted_s(fit, units);
    if (seconds > 0) chart.line.emplace_back(units, seconds);
  }
  return chart;
}

}  // namespace

std::vector<FitSample> stacked_samples(const db::Fit& fit, const Session& session) {
  std::map<double, FitSample> by_size;
  for (const auto& [id, timeline] : session.timelines) {
    if (timeline.info.kind != db::kMeasured) continue;
    std::vector<bool> fitted;  // by op
    for (const db::TimelineOp& op : timeline.ops) fitted.push_back(is_of_kind(fit, op.kind));
    for (const Lane& lane : timeline.lanes) {
      for (const LaneSpan& span : lane.spans) {
        if (!fitted[static_cast<std::size_t>(span.op)]) continue;
        const double units = units_of(fit, static_cast<double>(span.bytes), span.flops);
        if (by_size.size() >= kMostMarks && !by_size.contains(units)) continue;
        const double seconds = transfer_s(span);
        if (!(units > 0) || !(seconds > 0)) continue;
        FitSample& shortest = by_size.try_emplace(units, FitSample{units, seconds}).first->second;
        shortest.seconds = std::min(shortest.seconds, seconds);
      }
    }
  }
  std::vector<FitSample> samples;
  for (const auto& [units, sample] : by_size) samples.push_back(sample);
  return samples;
}

void draw_fit_charts(const Fonts& fonts, const db::Fit& fit, const std::vector<FitSample>& fitted,
                     const std::vector<FitSample>& stacked, Rect area) {
  ScatterChart line = line_chart_of(fit, stacked);
  ScatterChart residuals;
  residuals.title = "Off the fit, percent";
  residuals.x_label = axis_label(fit);
  residuals.log_x = true;
  residuals.marked_x = line.marked_x;
  residuals.line_name = "filled: what it was fitted to (red: left out); hollow: stacked timelines";
  residuals.empty_text = "what it was fitted to is not in this file";
  const auto add = [&](const std::vector<FitSample>& samples, Color color, bool hollow) {
    for (const FitSample& sample : samples) {
      const double expected_s = db::fitted_s(fit, sample.units);
      if (!(expected_s > 0)) continue;
      const double residual = sample.seconds / expected_s - 1;
      const Color own = sample.is_outlier ? theme::kBad : color;
      line.points.push_back(fit_point(sample, own, hollow, sample.seconds, residual));
      residuals.points.push_back(fit_point(sample, own, hollow, residual * 100, residual));
    }
  };
  add(fitted, theme::kAccent, false);
  add(stacked, theme::kWarning, true);
  if (line.points.empty() && !line.line.empty()) {  // the ends of the line, to have axes
    for (const auto& [x, y] : {line.line.front(), line.line.back()}) {
      line.points.push_back({x, y, {}, {}, theme::kMuted, true, "an end of the fitted sizes"});
    }
  }
  const float gap = fonts.text->FontSize * 2, width = (area.width() - gap) / 2;
  draw_scatter(fonts, line, {area.min, {area.min.x + width, area.max.y}});
  draw_scatter(fonts, residuals, {{area.min.x + width + gap, area.min.y}, area.max});
}

void draw_interference(const Fonts& fonts, const InterferenceMatrix& matrix, Rect area) {
  HeatMap map;
  map.title = "Share of its speed that a row keeps beside a column";
  map.subtitle = matrix.where;
  map.x_label = "beside";
  map.y_label = "activity";
  map.rows = map.columns = matrix.activities.size();
  map.value = [&](std::size_t row, std::size_t column) { return matrix.speed[row][column]; };
  map.decimals = 2;
  map.row_name = map.column_name = [&](std::size_t i) { return matrix.activities[i]; };
  map.most = 1;
  const HeatMapCell cell = draw_heat_map(fonts, map, area);
  if (cell.row < 0) return;
  const auto row = static_cast<std::size_t>(cell.row),
             column = static_cast<std::size_t>(cell.column);
  const std::optional<double> speed = matrix.speed[row][column];
  ImGui::SetTooltip("%s beside %s: %s", matrix.activities[row].c_str(),
                    matrix.activities[column].c_str(),
                    speed ? percent_text(*speed).c_str() : "not measured");
}

}  // namespace viewer
