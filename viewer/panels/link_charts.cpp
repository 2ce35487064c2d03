#include "viewer/panels/link_charts.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "viewer/model/format.h"
#include "viewer/window/heat_map.h"

namespace viewer {

namespace {

// As many decimals as show three digits of the largest value.
int decimals_of(double most) {
  int decimals = 0;
  for (double shown = most; shown < 100 && shown > 0 && decimals < 4; shown *= 10) ++decimals;
  return decimals;
}

void draw_link_map(const Fonts& fonts, const LinkMap& links, Rect area) {
  HeatMap map;
  map.title = links.title;
  map.x_label = "to";
  map.y_label = "from";
  map.rows = map.columns = links.names.size();
  map.row_name = map.column_name = [&](std::size_t i) { return links.names[i]; };
  map.value = [&](std::size_t row, std::size_t column) {
    const double value = links.value[row][column];
    return value > 0 && row != column ? std::optional(value) : std::nullopt;
  };
  map.most = 0;
  for (std::size_t row = 0; row < map.rows; ++row) {
    for (std::size_t column = 0; column < map.columns; ++column) {
      map.most = std::max(map.most, map.value(row, column).value_or(0));
    }
  }
  if (map.most <= 0) return;
  map.decimals = decimals_of(map.most);
  map.marked_row = links.marked;

  const float line = fonts.small->FontSize;
  const bool slow = !links.judged.findings().empty();
  draw_text(*ImGui::GetWindowDrawList(), *fonts.small, area.min.x, area.min.y + line * 2.2F, 0,
            slow ? theme::kWarning : theme::kMuted,
            elided(*fonts.small, finding_text(links), area.width()));
  // The words stand between the title and the map.
  draw_text(*ImGui::GetWindowDrawList(), *fonts.bold, area.min.x, area.min.y + line * 0.7F, 0,
            theme::kText, map.title);
  map.title.clear();
  const HeatMapCell cell =
      draw_heat_map(fonts, map, {{area.min.x, area.min.y + line * 1.6F}, area.max});
  if (cell.row < 0) return;
  const auto row = static_cast<std::size_t>(cell.row),
             column = static_cast<std::size_t>(cell.column);
  const std::optional<double> value = map.value(row, column);
  if (!value) return;
  ImGui::SetTooltip("%s to %s: %s %s, %.2f of the median", links.names[row].c_str(),
                    links.names[column].c_str(), cell_text(map, *value).c_str(),
                    links.latency ? "\u00b5s" : "GB/s", *value / links.median);
}

}  // namespace

void draw_link_maps(const Fonts& fonts, const std::vector<LinkMap>& maps, Rect area) {
  const float gap = fonts.text->FontSize * 2;
  const auto count = static_cast<float>(maps.size());
  // Cells are not much wider than high.
  const float width = std::min((area.width() - gap * (count - 1)) / count, area.height() * 1.9F);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const float left = area.min.x + static_cast<float>(i) * (width + gap);
    draw_link_map(fonts, maps[i], {{left, area.min.y}, {left + width, area.max.y}});
  }
}

}  // namespace viewer
