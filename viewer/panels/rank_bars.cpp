#include "viewer/panels/rank_bars.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/format.h"
#include "viewer/model/ticks.h"
#include "viewer/panels/balance_charts.h"

namespace viewer {

namespace {

struct Bars {
  std::vector<std::int64_t> kept, asked, placed;  // [rank]; the last two may be empty
  double most = 1, mean = 0;
};

Bars bars_of(const LayerRanks& layer) {
  Bars bars;
  double sum = 0;
  for (const db::RankLoad& row : layer.loads) {
    bars.kept.push_back(row.tokens);
    if (row.asked_tokens) bars.asked.push_back(*row.asked_tokens);
    if (row.placed_tokens) bars.placed.push_back(*row.placed_tokens);
    sum += static_cast<double>(row.tokens);
  }
  if (bars.asked.size() != bars.kept.size()) bars.asked.clear();
  if (bars.placed.size() != bars.kept.size()) bars.placed.clear();
  for (const auto* tokens : {&bars.kept, &bars.asked, &bars.placed}) {
    for (const std::int64_t of : *tokens) bars.most = std::max(bars.most, static_cast<double>(of));
  }
  if (!bars.kept.empty()) bars.mean = sum / static_cast<double>(bars.kept.size());
  return bars;
}

void draw_bar(ImDrawList& draw, const Rect& inner, float x, float width, double share, Color color,
              bool filled) {
  const ImVec2 top{x, inner.max.y - static_cast<float>(share) * inner.height()};
  const ImVec2 bottom{x + width, inner.max.y};
  if (filled) {
    draw.AddRectFilled(top, bottom, to_u32(color));
  } else {
    draw.AddRect(top, bottom, to_u32(color), 0, 0, line_px());
  }
}

void draw_ticks(const Fonts& fonts, const Bars& bars, const Rect& inner) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  for (const Tick& tick : place_ticks(0, bars.most, 4)) {
    const float y = inner.max.y - static_cast<float>(tick.at / bars.most) * inner.height();
    draw_line(draw, {inner.min.x, y}, {inner.max.x, y}, to_u32(theme::kLine, 0.6F));
    draw_text(draw, *fonts.small, inner.min.x - 6, y, 1, theme::kMuted, tick.label);
  }
}

// The rank under the mouse.
std::optional<std::size_t> draw_bars(const Fonts& fonts, const LayerRanks& layer, const Bars& bars,
                                     const Rect& inner) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const std::size_t ranks = bars.kept.size();
  const float pitch = inner.width() / static_cast<float>(ranks);
  const bool labelled = pitch >= fonts.small->FontSize * 2;
  std::optional<std::size_t> hovered;
  for (std::size_t r = 0; r < ranks; ++r) {
    const float x = inner.min.x + pitch * static_cast<float>(r);
    if (mouse.x >= x && mouse.x < x + pitch && inner.contains(mouse)) hovered = r;
    const float gap = std::min(pitch * 0.12F, fonts.small->FontSize);
    const float width = (pitch - 2 * gap) / (bars.placed.empty() ? 1.0F : 2.0F);
    const auto share = [&](std::int64_t tokens) { return static_cast<double>(tokens) / bars.most; };
    draw_bar(draw, inner, x + gap, width, share(bars.kept[r]), kRankTokens, true);
    if (!bars.asked.empty()) {
      draw_bar(draw, inner, x + gap, width, share(bars.asked[r]), kAskedTokens, false);
    }
    if (!bars.placed.empty()) {
      draw_bar(draw, inner, x + gap + width, width, share(bars.placed[r]), kPlacedTokens, true);
    }
    if (!labelled) continue;
    draw_text(draw, *fonts.small, x + pitch / 2, inner.max.y + fonts.small->FontSize * 0.7F, 0.5F,
              theme::kMuted, fmt::format("{}", layer.loads[r].rank));
  }
  const float mean_y = inner.max.y - static_cast<float>(bars.mean / bars.most) * inner.height();
  draw_line(draw, {inner.min.x, mean_y}, {inner.max.x, mean_y}, to_u32(theme::kText, 0.7F));
  return hovered;
}

void draw_rank_tooltip(const LayerRanks& layer, const Bars& bars, std::size_t rank) {
  const db::RankLoad& row = layer.loads[rank];
  const auto text = [](std::int64_t tokens) { return grouped(static_cast<double>(tokens), 0); };
  std::string lines = fmt::format("rank {}: {} tokens of its experts", row.rank, text(row.tokens));
  if (!bars.asked.empty()) lines += fmt::format("\n{} asked for", text(bars.asked[rank]));
  if (!bars.placed.empty()) {
    lines += fmt::format("\n{} computed after placement", text(bars.placed[rank]));
  }
  lines += fmt::format("\nmean of ranks {}", grouped(bars.mean, 1));
  const std::string experts = experts_text(layer, row.rank);
  if (!experts.empty()) lines += "\n" + experts;
  ImGui::SetTooltip("%s", lines.c_str());
}

struct KeyEntry {
  std::string text;
  Color color;
};

// What the bars are, each with its max/mean.
void draw_key(const Fonts& fonts, const Bars& bars, float x, float y) {
  std::vector<KeyEntry> entries;
  const auto add = [&](const char* name, const std::vector<std::int64_t>& tokens, Color color) {
    if (tokens.empty()) return;
    entries.push_back({fmt::format("{} {:.2f}", name, max_over_mean(tokens)), color});
  };
  add("asked", bars.asked, kAskedTokens);
  add(bars.placed.empty() ? "kept" : "before placement", bars.kept, kRankTokens);
  add("after", bars.placed, kPlacedTokens);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float size = fonts.small->FontSize * 0.7F;
  for (const KeyEntry& entry : entries) {
    draw.AddRectFilled({x, y - size / 2}, {x + size, y + size / 2}, to_u32(entry.color), 1);
    x += size * 1.4F;
    draw_text(draw, *fonts.small, x, y, 0, theme::kMuted, entry.text);
    x += text_width(*fonts.small, entry.text) + size * 1.6F;
  }
}

// Where experts were replicated, as far as it fits; all of it as a tooltip. False where none was.
bool draw_replicas(const Fonts& fonts, const LayerRanks& layer, float x, float y, float right) {
  const std::vector<std::string> lines = replica_lines(layer);
  if (lines.empty()) return false;
  const std::string text = fmt::format("{}", fmt::join(lines, "; "));
  draw_text(*ImGui::GetWindowDrawList(), *fonts.small, x, y, 0, kPlacedTokens,
            elided(*fonts.small, text, right - x));
  const float half = fonts.small->FontSize * 0.7F;
  if (Rect{{x, y - half}, {right, y + half}}.contains(ImGui::GetIO().MousePos)) {
    ImGui::SetTooltip("%s", fmt::format("{}", fmt::join(lines, "\n")).c_str());
  }
  return true;
}

}  // namespace

void draw_rank_bars(const Fonts& fonts, const LayerRanks& layer, int layer_number, Rect area) {
  if (layer.loads.empty()) return;
  const Bars bars = bars_of(layer);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float em = fonts.small->FontSize;
  const std::string title = fmt::format("Tokens of ranks, layer {}; max/mean", layer_number);
  draw_text(draw, *fonts.bold, area.min.x, area.min.y + em * 0.6F, 0, theme::kText,
            elided(*fonts.bold, title, area.width()));
  draw_key(fonts, bars, area.min.x, area.min.y + em * 2.1F);
  float top = area.min.y + em * 3.2F;
  if (draw_replicas(fonts, layer, area.min.x, top, area.max.x)) top += em * 1.3F;
  const Rect inner{{area.min.x + em * 3.2F, top}, {area.max.x, area.max.y - em * 1.6F}};
  if (inner.height() < em * 2) return;
  draw_ticks(fonts, bars, inner);
  const auto hovered = draw_bars(fonts, layer, bars, inner);
  if (hovered && ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows)) {
    draw_rank_tooltip(layer, bars, *hovered);
  }
}

}  // namespace viewer
