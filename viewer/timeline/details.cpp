#include <fmt/format.h>

#include <algorithm>

#include "viewer/model/format.h"
#include "viewer/model/op_class.h"
#include "viewer/timeline/paint.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {

namespace {

struct Fact {
  std::string name;
  std::string value;
};

std::vector<Fact> facts_of(const Timeline& timeline, SpanPosition at) {
  const Lane& lane = timeline.lanes[at.lane];
  const LaneSpan& span = lane.spans[at.span];
  const db::TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
  std::vector<Fact> facts;
  facts.push_back({"where", fmt::format("rank {}, {}", lane.rank, lane.stream)});
  facts.push_back({"kind", op.kind});
  std::string place = op.phase;
  if (op.layer >= 0) place += fmt::format("{}layer {}", place.empty() ? "" : ", ", op.layer);
  if (op.chunks > 1) place += fmt::format(", chunk {} of {}", op.chunk + 1, op.chunks);
  facts.push_back({"phase", place});
  facts.push_back({"start", duration_text(span.start_s)});
  facts.push_back({"duration", duration_text(span.duration_s())});
  if (span.bytes > 0) {
    facts.push_back(
        {"bytes", fmt::format("{}  ({})", bytes_text(static_cast<double>(span.bytes)),
                              bandwidth_text(static_cast<double>(span.bytes), span.duration_s()))});
  }
  if (span.flops > 0) {
    facts.push_back(
        {"rate", fmt::format("{}  ({} GFLOP)", flop_rate_text(span.flops, span.duration_s()),
                             grouped(span.flops / 1e9, 3))});
  }
  return facts;
}

void draw_facts(const std::vector<Fact>& facts, const Fonts& fonts) {
  const float column = ImGui::GetCursorPosX() + fonts.text->FontSize * 5.5F;
  for (const Fact& fact : facts) {
    ImGui::TextDisabled("%s", fact.name.c_str());
    ImGui::SameLine(column);
    ImGui::TextUnformatted(fact.value.c_str());
  }
}

}  // namespace

void draw_tooltip(const TimelinePanel& panel, const Fonts& fonts,
                  std::span<const StackEntry> stack) {
  if (!panel.hovered || panel.range_anchor_s) return;
  const Timeline& timeline = *stack[panel.hovered->stack].timeline;
  const SpanPosition at = panel.hovered->at;
  const LaneSpan& span = timeline.lanes[at.lane].spans[at.span];
  const db::TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
  ImGui::BeginTooltip();
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float size = fonts.text->FontSize * 0.8F;
  const ImVec2 swatch{corner.x, corner.y + fonts.text->FontSize * 0.15F};
  ImGui::GetWindowDrawList()->AddRectFilled(swatch, {swatch.x + size, swatch.y + size},
                                            to_u32(op_color(op)), 2);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + size * 1.6F);
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted(op_label(op).c_str());
  ImGui::PopFont();
  draw_facts(facts_of(timeline, at), fonts);
  if (panel.hovered_count > 1) {
    ImGui::TextColored(ImVec4(0.95F, 0.72F, 0.29F, 1),
                       "one of %zu spans in this mark; zoom in with W", panel.hovered_count);
  }
  ImGui::EndTooltip();
}

void draw_selection(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  if (!panel.selected) {
    ImGui::TextDisabled("Click a span to see what it is and how long");
    ImGui::TextDisabled("the same op took in the other timelines.");
    ImGui::TextDisabled("Shift and drag marks a range for the figures.");
    return;
  }
  const Timeline& timeline = *stack[panel.selected->stack].timeline;
  const LaneSpan& span = timeline.lanes[panel.selected->at.lane].spans[panel.selected->at.span];
  const db::TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted(op_label(op).c_str());
  ImGui::PopFont();
  std::vector<Fact> facts = facts_of(timeline, panel.selected->at);
  for (std::size_t s = 0; s < stack.size(); ++s) {
    if (s == panel.selected->stack) continue;
    const Timeline& other = *stack[s].timeline;
    const std::optional<SpanPosition> at = counterpart_of_selected(panel, stack, s);
    if (!at) continue;
    const double other_s = other.lanes[at->lane].spans[at->span].duration_s();
    std::string value = duration_text(other_s);
    if (span.duration_s() > 0)
      value += fmt::format("  ({:+.1f}%)", (other_s / span.duration_s() - 1) * 100);
    facts.push_back({other.info.kind, value + "  " + stack[s].title});
  }
  draw_facts(facts, fonts);
}

}  // namespace viewer
