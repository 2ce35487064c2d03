#include "viewer/panels/balance_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/format.h"
#include "viewer/window/table.h"
#include "viewer/window/table_copy.h"

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
  Series series{"worst", theme::kWarning, {}, {}, false};
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

std::string count_text(std::int64_t count) { return grouped(static_cast<double>(count), 0); }

struct BalanceColumn {
  const char* name;
  float weight;
  std::string (*text)(const db::BalanceOverview&);
  Figure figure = nullptr;  // shown only where a row has it; null: always shown
};

constexpr float kAnyWidth_em = 1000;

// The columns after that of the layer. A narrow table leaves out the last ones.
std::vector<BalanceColumn> shown_columns(const BalanceTable& table, float width_em) {
  using Row = const db::BalanceOverview&;
  std::vector<BalanceColumn> columns = {
      {"max/mean", 1.3F, [](Row of) { return optional_text(of.max_over_mean, 3); }},
      {"asked", 0.9F, [](Row of) { return optional_text(of.asked_max_over_mean, 3); },
       &db::BalanceOverview::asked_max_over_mean},
      {"ranks", 0.9F, [](Row of) { return optional_text(of.rank_max_over_mean, 3); }},
      {"placed", 0.9F, [](Row of) { return optional_text(of.placed_rank_max_over_mean, 3); },
       &db::BalanceOverview::placed_rank_max_over_mean},
      {"std. dev.", 1.2F, [](Row of) { return grouped(of.standard_deviation, 1); }},
      {"locality", 1.1F, [](Row of) { return optional_text(of.locality, 4); }},
      {"dropped", 1.1F,
       [](Row of) { return of.dropped_tokens ? count_text(*of.dropped_tokens) : ""; }},
      {"unused", 0.9F, [](Row of) { return std::to_string(of.unused_experts); }},
      {"tokens", 1.0F, [](Row of) { return count_text(of.tokens); }},
      {"max", 0.9F, [](Row of) { return count_text(of.max_tokens); }}};
  std::erase_if(columns, [&](const BalanceColumn& column) {
    return column.figure != nullptr &&
           std::none_of(table.rows.begin(), table.rows.end(),
                        [&](Row row) { return (row.*column.figure).has_value(); });
  });
  const auto fit = static_cast<std::size_t>(width_em / 4.4F);
  columns.resize(std::min(columns.size(), std::max<std::size_t>(fit, 4) - 1));
  return columns;
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
  chart.series.push_back(series_of_layer("ranks", kRankTokens, table, focus.layer,
                                         &db::BalanceOverview::rank_max_over_mean));
  chart.series.push_back(series_of_layer("placed", kPlacedTokens, table, focus.layer,
                                         &db::BalanceOverview::placed_rank_max_over_mean));
  chart.series.push_back(series_of_layer("asked", kAskedTokens, table, focus.layer,
                                         &db::BalanceOverview::asked_max_over_mean));
  chart.series.push_back(series_of_layer("experts", kExpertTokens, table, focus.layer, kExperts));
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
  const bool is_copied = TableCopy::copies_whole("layers", "layers, all columns");
  const float width_em = is_copied ? kAnyWidth_em : area.width() / fonts.text->FontSize;
  const std::vector<BalanceColumn> columns = shown_columns(table, width_em);
  const char* id = is_copied ? "layers, all columns" : "layers";
  if (ImGui::BeginTable(id, static_cast<int>(columns.size()) + 1, kFlags)) {
    ImGui::TableSetupScrollFreeze(0, 1);
    std::vector<const char*> names = {"layer"};
    ImGui::TableSetupColumn(names.front(), 0, 0.7F);
    for (const BalanceColumn& column : columns) {
      names.push_back(column.name);
      ImGui::TableSetupColumn(column.name, 0, column.weight);
    }
    header_row(names, 1);
    for (const int layer : table.layers) {
      const db::BalanceOverview& of = table.of(focus.iteration, layer);
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (ImGui::Selectable(std::to_string(layer).c_str(), layer == focus.layer,
                            ImGuiSelectableFlags_SpanAllColumns)) {
        focus.layer = layer;
      }
      for (const BalanceColumn& column : columns) figure_cell(column.text(of));
    }
    end_table();
  }
  ImGui::EndChild();
  return focus.layer;
}

}  // namespace viewer
