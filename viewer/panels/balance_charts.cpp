#include "viewer/panels/balance_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "viewer/model/format.h"
#include "viewer/window/table.h"

namespace viewer {

namespace {

using Figure = std::optional<double> db::BalanceOverview::*;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();  // interrupts a line

Series series_of_layer(const char* name, Color color, const BalanceTable& table, int layer,
                       Figure figure) {
  Series series{name, color, {}, {}, false};
  for (const int iteration : table.iterations) {
    series.x.push_back(iteration);
    series.y.push_back((table.of(iteration, layer).*figure).value_or(kGap));
  }
  return series;
}

/// For every iteration, the figure of the worst layer, as `worse` compares them.
template <class Worse>
Series series_of_worst(const BalanceTable& table, Figure figure, Worse worse) {
  Series series{"worst layer", theme::kWarning, {}, {}, false};
  for (std::size_t i = 0; i < table.iterations.size(); ++i) {
    std::optional<double> worst;
    for (std::size_t l = 0; l < table.layers.size(); ++l) {
      const std::optional<double> value = table.at(i, l).*figure;
      if (value && (!worst || worse(*value, *worst))) worst = value;
    }
    series.x.push_back(table.iterations[i]);
    series.y.push_back(worst.value_or(kGap));
  }
  return series;
}

void draw_figures(const Fonts& fonts, LineChart chart, LoadFocus focus, Rect area) {
  chart.x_label = "iteration";
  chart.mark = true;
  chart.marked_x = focus.iteration;
  // A series without any value, e.g. of a layer whose ranks are unknown, needs no line in the
  // legend.
  std::erase_if(chart.series, [](const Series& series) {
    return std::none_of(series.y.begin(), series.y.end(),
                        [](double y) { return std::isfinite(y); });
  });
  draw_line_chart(fonts, chart, area);
}

std::string optional_text(std::optional<double> value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "";
}

}  // namespace

void draw_imbalance_chart(const Fonts& fonts, const BalanceTable& table, LoadFocus focus,
                          Rect area) {
  LineChart chart;
  chart.title = fmt::format("Max / mean, layer {}", focus.layer);
  constexpr Figure kExperts = &db::BalanceOverview::max_over_mean;
  if (table.layers.size() > 1) {
    chart.series.push_back(series_of_worst(table, kExperts, std::greater<>()));
  }
  chart.series.push_back(series_of_layer("ranks", theme::kGood, table, focus.layer,
                                         &db::BalanceOverview::rank_max_over_mean));
  chart.series.push_back(series_of_layer("experts", theme::kAccent, table, focus.layer, kExperts));
  draw_figures(fonts, std::move(chart), focus, area);
}

void draw_locality_chart(const Fonts& fonts, const BalanceTable& table, LoadFocus focus,
                         Rect area) {
  LineChart chart;
  chart.title = fmt::format("Locality, layer {}", focus.layer);
  constexpr Figure kLocality = &db::BalanceOverview::locality;
  if (table.layers.size() > 1) {
    chart.series.push_back(series_of_worst(table, kLocality, std::less<>()));
  }
  chart.series.push_back(series_of_layer("experts", theme::kAccent, table, focus.layer, kLocality));
  draw_figures(fonts, std::move(chart), focus, area);
}

int draw_balance_rows(const Fonts& fonts, const BalanceTable& table, LoadFocus focus, Rect area) {
  ImGui::SetCursorScreenPos(area.min);
  ImGui::BeginChild("balance", {area.width(), area.height()});
  ImGui::PushFont(fonts.bold);
  ImGui::Text("Balance, iteration %d", focus.iteration);
  ImGui::PopFont();
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  constexpr std::array kNames = {"layer",   "max/mean", "ranks",  "std. dev.", "locality",
                                 "dropped", "unused",   "tokens", "max"};
  constexpr std::array kWeights = {0.7F, 1.2F, 0.9F, 1.2F, 1.1F, 1.1F, 0.9F, 1.0F, 0.9F};
  // A narrow table leaves out the last columns.
  const float em = fonts.text->FontSize;
  const auto fit = static_cast<std::size_t>(area.width() / (em * 4.4F));
  const std::size_t columns = std::clamp<std::size_t>(fit, 4, kNames.size());
  if (ImGui::BeginTable("layers", static_cast<int>(columns), kFlags)) {
    ImGui::TableSetupScrollFreeze(0, 1);
    for (std::size_t i = 0; i < columns; ++i) ImGui::TableSetupColumn(kNames[i], 0, kWeights[i]);
    header_row(std::span(kNames).first(columns), 1);
    for (const int layer : table.layers) {
      const db::BalanceOverview& of = table.of(focus.iteration, layer);
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (ImGui::Selectable(std::to_string(layer).c_str(), layer == focus.layer,
                            ImGuiSelectableFlags_SpanAllColumns)) {
        focus.layer = layer;
      }
      const auto count = [](std::int64_t n) { return grouped(static_cast<double>(n), 0); };
      const std::array figures = {optional_text(of.max_over_mean, 3),
                                  optional_text(of.rank_max_over_mean, 3),
                                  grouped(of.standard_deviation, 1),
                                  optional_text(of.locality, 4),
                                  of.dropped_tokens ? count(*of.dropped_tokens) : "",
                                  std::to_string(of.unused_experts),
                                  count(of.tokens),
                                  count(of.max_tokens)};
      for (std::size_t i = 1; i < columns; ++i) figure_cell(figures[i - 1]);
    }
    ImGui::EndTable();
  }
  ImGui::EndChild();
  return focus.layer;
}

}  // namespace viewer
