#include "viewer/timeline/memory_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "viewer/model/format.h"

namespace viewer {

namespace {

constexpr Color kInUse = rgb(0x3E7CB8), kPersistent = rgb(0x35506E), kHost = rgb(0x8B7BC8);
constexpr std::size_t kTooltipLines = 8;

// Where the bytes of a strip are on the screen.
struct BytesPixels {
  float bottom = 0, top = 0;
  double most = 1;

  float to_px(double bytes) const {
    return bottom - static_cast<float>(std::clamp(bytes / most, 0.0, 1.0)) * (bottom - top);
  }
};

// The largest figure of any strip, so that all have one scale.
double most_bytes(const TimelinePanel& panel, std::span<const StackEntry> stack) {
  double most = 1;
  for (const StackEntry& entry : stack) {
    const RankMemory* rank = shown_memory(panel, entry);
    if (rank == nullptr) continue;
    most = std::max({most, rank->device.planned_bytes, rank->touched_bytes.value_or(0),
                     rank->device.peak.bytes, rank->host.peak.bytes});
  }
  return most * 1.08;
}

// A stretch of the axis and the most bytes that are in use in it.
struct Column {
  float x0 = 0, x1 = 0;
  double bytes = 0;
};

// The steps that the view shows, those of less than a pixel together with the next.
std::vector<Column> columns_of(const Canvas& canvas, const PoolUse& use, const AxisMap& map,
                               double end_s) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < use.steps.size(); ++i) {
    const double until_s = i + 1 < use.steps.size() ? use.steps[i + 1].at_s : end_s;
    const float x0 = std::max(canvas.axis.left, canvas.axis.to_px(map.to_axis(use.steps[i].at_s)));
    const float x1 = std::min(canvas.axis.right, canvas.axis.to_px(map.to_axis(until_s)));
    if (x1 < canvas.axis.left || x0 > canvas.axis.right || x1 < x0) continue;
    const bool joins = !columns.empty() && columns.back().x1 - columns.back().x0 < 1;
    if (joins) {
      columns.back().x1 = std::max(columns.back().x1, x1);
      columns.back().bytes = std::max(columns.back().bytes, use.steps[i].bytes);
    } else {
      columns.push_back({x0, x1, use.steps[i].bytes});
    }
  }
  return columns;
}

void paint_area(const Canvas& canvas, const std::vector<Column>& columns, const BytesPixels& y,
                double above, Color color) {
  for (const Column& column : columns) {
    if (column.bytes <= above) continue;
    canvas.draw.AddRectFilled({column.x0, y.to_px(column.bytes)}, {column.x1, y.to_px(above)},
                              to_u32(color));
  }
}

// The upper edge alone: what the host holds stands before the device's area.
void paint_edge(const Canvas& canvas, const std::vector<Column>& columns, const BytesPixels& y,
                Color color) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const float at = y.to_px(columns[i].bytes);
    draw_line(canvas.draw, {columns[i].x0, at}, {columns[i].x1, at}, to_u32(color), 2);
    if (i == 0) continue;
    draw_line(canvas.draw, {columns[i].x0, y.to_px(columns[i - 1].bytes)}, {columns[i].x0, at},
              to_u32(color), 2);
  }
}

void paint_level(const Canvas& canvas, float y, Color color, float dash) {
  if (dash <= 0) {
    draw_line(canvas.draw, {canvas.axis.left, y}, {canvas.axis.right, y}, to_u32(color), 1.5F);
    return;
  }
  for (float x = canvas.axis.left; x < canvas.axis.right; x += 2 * dash) {
    draw_line(canvas.draw, {x, y}, {std::min(x + dash, canvas.axis.right), y}, to_u32(color), 1.5F);
  }
}

void paint_moment(const Canvas& canvas, const AxisMap& map, const BytesPixels& y,
                  const PoolUse& use, double at_s, Color color) {
  const float x = canvas.axis.to_px(map.to_axis(at_s));
  if (x < canvas.axis.left || x > canvas.axis.right) return;
  const ImVec2 at{x, y.to_px(bytes_at(use, at_s))};
  draw_line(canvas.draw, {x, y.bottom}, at, to_u32(color), 1.5F);
  canvas.draw.AddCircleFilled(at, scaled_px(3.5F), to_u32(color));
}

// The lines' names at the right end of the strip, each in its colour.
void paint_key(const Canvas& canvas, const RankMemory& rank, float y) {
  const ImFont& font = *canvas.fonts.small;
  struct Entry {
    std::string text;
    Color color;
  };
  std::vector<Entry> entries = {
      {fmt::format("peak {}", bytes_text(rank.device.peak.bytes)), theme::kText},
      {fmt::format("planned {}", bytes_text(rank.device.planned_bytes)), theme::kWarning}};
  if (rank.touched_bytes) {
    entries.push_back({fmt::format("touched {}", bytes_text(*rank.touched_bytes)), theme::kGood});
  }
  if (rank.host.peak.bytes > 0) {
    entries.push_back({fmt::format("host {}", bytes_text(rank.host.peak.bytes)), kHost});
  }
  float width = 0;
  for (const Entry& entry : entries) width += text_width(font, entry.text) + font.FontSize;
  float x = canvas.axis.right - width;
  canvas.draw.AddRectFilled({x - font.FontSize * 0.5F, y - font.FontSize * 0.6F},
                            {canvas.axis.right, y + font.FontSize * 0.6F},
                            to_u32(theme::kLane, 0.85F), 2);
  for (const Entry& entry : entries) {
    draw_text(canvas.draw, font, x, y, 0, entry.color, entry.text);
    x += text_width(font, entry.text) + font.FontSize;
  }
}

void paint_strip_gutter(const Canvas& canvas, const RankMemory& rank, const PlacedStrip& strip) {
  const float em = canvas.fonts.text->FontSize;
  const float middle = canvas.top + strip.y + strip.height / 2;
  draw_text(canvas.draw, *canvas.fonts.bold, canvas.area.min.x + em * 0.5F, middle, 0, theme::kText,
            fmt::format("rank {}", rank.rank));
  draw_text(canvas.draw, *canvas.fonts.small, canvas.axis.left - em * 0.6F, middle, 1,
            theme::kMuted, "memory");
}

void paint_strip(const Canvas& canvas, const TimelinePanel& panel, const StackEntry& entry,
                 const RankMemory& rank, const PlacedStrip& strip, const AxisMap& map,
                 double most) {
  const float top = canvas.top + strip.y;
  const BytesPixels y{top + strip.height - 1, top + 1, most};
  const double end_s = entry.timeline->extent.end_s;
  canvas.draw.AddRectFilled({canvas.axis.left, top}, {canvas.axis.right, top + strip.height},
                            to_u32(theme::kLane));
  canvas.draw.PushClipRect({canvas.axis.left, top}, {canvas.axis.right, top + strip.height}, true);
  const std::vector<Column> device = columns_of(canvas, rank.device, map, end_s);
  paint_area(canvas, device, y, rank.device.persistent_bytes, kInUse);
  std::vector<Column> base = device;
  for (Column& column : base) column.bytes = rank.device.persistent_bytes;
  paint_area(canvas, base, y, 0, kPersistent);
  if (!rank.host.steps.empty()) {
    paint_edge(canvas, columns_of(canvas, rank.host, map, end_s), y, kHost);
  }
  paint_level(canvas, y.to_px(rank.device.planned_bytes), theme::kWarning, 0);
  if (rank.touched_bytes)
    paint_level(canvas, y.to_px(*rank.touched_bytes), theme::kGood, scaled_px(6));
  paint_moment(canvas, map, y, rank.device, rank.device.peak.at_s, theme::kText);
  const std::optional<StackMoment>& chosen = panel.memory.chosen;
  if (chosen && chosen->stack == strip.stack) {
    paint_moment(canvas, map, y, rank.device, chosen->at_s, theme::kAccent);
  }
  canvas.draw.PopClipRect();
  paint_key(canvas, rank, top + strip.height - canvas.fonts.small->FontSize * 0.8F);
}

}  // namespace

std::string memory_item_name(const MemoryItem& item) {
  if (item.allocation != nullptr) return item.name;
  std::string role = item.role;
  std::replace(role.begin(), role.end(), '_', ' ');
  return fmt::format("{}{} ({} tensor{})", role, item.role == "input" ? "" : "s", item.tensors,
                     item.tensors == 1 ? "" : "s");
}

void paint_memory(const Canvas& canvas, const TimelinePanel& panel,
                  std::span<const StackEntry> stack, const StackLayout& layout) {
  if (layout.strips.empty()) return;
  const TimeRange extent = stack_extent(stack);
  const double most = most_bytes(panel, stack);
  for (const PlacedStrip& strip : layout.strips) {
    const float top = canvas.top + strip.y;
    if (top + strip.height < canvas.area.min.y || top > canvas.area.max.y) continue;
    const StackEntry& entry = stack[strip.stack];
    const RankMemory* rank = shown_memory(panel, entry);
    if (rank == nullptr) {
      draw_text(canvas.draw, *canvas.fonts.text, canvas.axis.left, top + strip.height / 2, 0,
                theme::kMuted, "This timeline was stored without its memory.");
      continue;
    }
    paint_strip_gutter(canvas, *rank, strip);
    paint_strip(canvas, panel, entry, *rank, strip,
                axis_map(*entry.timeline, panel.own_axis, extent), most);
  }
}

void draw_memory_tooltip(const TimelinePanel& panel, const Fonts& fonts,
                         std::span<const StackEntry> stack) {
  if (!panel.memory.hovered || panel.range_anchor_s) return;
  const StackMoment moment = *panel.memory.hovered;
  const StackEntry& entry = stack[moment.stack];
  const RankMemory* rank = shown_memory(panel, entry);
  if (rank == nullptr) return;
  ImGui::BeginTooltip();
  ImGui::PushFont(fonts.bold);
  ImGui::Text("%s in use at %s on rank %d", bytes_text(bytes_at(rank->device, moment.at_s)).c_str(),
              duration_text(moment.at_s).c_str(), rank->rank);
  ImGui::PopFont();
  const std::vector<MemoryItem> items = items_at(*entry.memory, *rank, moment.at_s);
  const float column = ImGui::GetCursorPosX() + fonts.text->FontSize * 5.5F;
  for (std::size_t i = 0; i < std::min(kTooltipLines, items.size()); ++i) {
    ImGui::TextDisabled("%s", bytes_text(items[i].bytes).c_str());
    ImGui::SameLine(column);
    ImGui::Text("%s%s", memory_item_name(items[i]).c_str(),
                items[i].pool == db::kHostPool ? ", on the host" : "");
  }
  if (items.size() > kTooltipLines) {
    ImGui::TextDisabled("and %zu more; a click lists them", items.size() - kTooltipLines);
  }
  ImGui::EndTooltip();
}

}  // namespace viewer
