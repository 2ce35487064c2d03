#include <fmt/format.h>

#include <algorithm>

#include "viewer/model/format.h"
#include "viewer/model/timeline.h"
#include "viewer/timeline/paint.h"
#include "viewer/timeline/timeline_panel.h"

namespace viewer {

namespace {

struct Fact {
  std::string name;
  std::string value;
};

// Which span it is and how long it took.
std::vector<Fact> first_facts(const Timeline& timeline, SpanPosition at) {
  const Lane& lane = timeline.lanes[at.lane];
  const db::TimelineOp& op = op_at(timeline, at);
  std::string place = op.phase;
  if (op.layer >= 0) place += fmt::format("{}layer {}", place.empty() ? "" : ", ", op.layer);
  if (op.chunks > 1) place += ", chunk " + chunk_text(op);
  return {{"where", fmt::format("rank {}, {}", lane.rank, lane.stream)},
          {"phase", place},
          {"duration", duration_text(lane.spans[at.span].duration_s())}};
}

// Rates are those of `transfer_s`: while a communication waits, nothing travels.
std::vector<Fact> other_facts(const Timeline& timeline, SpanPosition at, double transfer_s) {
  const LaneSpan& span = timeline.lanes[at.lane].spans[at.span];
  const db::TimelineOp& op = op_at(timeline, at);
  std::vector<Fact> facts = {{"start", duration_text(span.start_s)},
                             {"kind", fmt::format("{} ({})", op.kind.empty() ? "-" : op.kind,
                                                  activity_name(activity_of(op)))}};
  if (span.bytes > 0) {
    const auto bytes = static_cast<double>(span.bytes);
    const std::string rate = bandwidth_text(bytes, transfer_s);
    facts.push_back({"bytes", rate.empty() ? bytes_text(bytes)
                                           : fmt::format("{}  ({})", bytes_text(bytes), rate)});
  }
  if (span.flops > 0) {
    facts.push_back(
        {"rate", fmt::format("{}  ({} GFLOP)", flop_rate_text(span.flops, span.duration_s()),
                             grouped(span.flops / 1e9, 3))});
  }
  return facts;
}

// What a communication hid behind computation, and how long it waited.
std::vector<Fact> exposed_facts(const Timeline& timeline, SpanPosition at) {
  if (activity_of(op_at(timeline, at)) != Activity::communication) return {};
  const LaneSpan& span = span_at(timeline, at);
  const double open_s = exposed_s(timeline, at);
  const double share = span.duration_s() > 0 ? open_s / span.duration_s() : 0;
  return {{"exposed", fmt::format("{}  ({})", duration_text(open_s), percent_text(share))}};
}

// The time of the selected span without its waiting.
double selected_transfer_s(const AboutSpan& about, const Timeline& timeline, SpanPosition at) {
  const LaneSpan& span = span_at(timeline, at);
  if (!about.collective) return transfer_s(span);
  return span.duration_s() - waiting_of(timeline, *about.collective, at).length_s();
}

// Whom the selected communication waited for.
std::vector<Fact> waiting_facts(TimelinePanel& panel, const AboutSpan& about,
                                const Timeline& timeline) {
  if (!about.collective) return {};
  const SpanPosition at = panel.selected->at;
  const std::string waiting = waiting_text(timeline, index_of(panel, timeline), at);
  if (waiting.empty()) return {};
  std::vector<Fact> facts = {{"waiting", waiting}};
  if (waiting_of(timeline, *about.collective, at).length_s() > 0) {
    facts.push_back({"transfer", duration_text(selected_transfer_s(about, timeline, at))});
  }
  return facts;
}

// Why it began when it did, the last cause first.
std::vector<Fact> cause_facts(const AboutSpan& about, const Timeline& timeline, SpanPosition at) {
  constexpr std::size_t kMost = 3;
  std::vector<Fact> facts;
  const double start_s = span_at(timeline, at).start_s;
  for (const Cause& cause : about.causes) {
    if (facts.size() == kMost) break;
    const bool last_rank = cause.reason == Reason::rendezvous;
    const std::string what = last_rank ? fmt::format("rank {}", rank_at(timeline, cause.at))
                                       : op_label(op_at(timeline, cause.at));
    const double apart_s = cause.at_s - start_s;
    const std::string when = apart_s > 0 ? fmt::format("{} later", duration_text(apart_s, 3))
                                         : fmt::format("{} before", duration_text(-apart_s, 3));
    facts.push_back({facts.empty() ? "after" : "",
                     fmt::format("{}  ({}, {})", what, reason_name(cause.reason), when)});
  }
  return facts;
}

// "4.71 ms in 4 chunks".
std::string chunks_text(const WholeOp& op) {
  const std::string text = duration_text(op.duration_s);
  return op.spans.size() > 1 ? fmt::format("{} in {} chunks", text, op.spans.size()) : text;
}

// With how much longer it took than the selected one.
std::string compared_text(const WholeOp& other, double own_s) {
  std::string text = chunks_text(other);
  if (own_s > 0) text += fmt::format("  ({:+.1f}%)", (other.duration_s / own_s - 1) * 100);
  return text;
}

// What stands in parentheses begins a line where all does not fit into one.
std::string broken(std::string text, float room) {
  const std::size_t at = text.rfind("  (");
  const bool fits = at == std::string::npos || ImGui::CalcTextSize(text.c_str()).x <= room;
  return fits ? text : text.replace(at, 2, "\n");
}

void draw_facts(const std::vector<Fact>& facts, const Fonts& fonts, float wrap_px = 1e9F) {
  const float column = ImGui::GetCursorPosX() + fonts.text->FontSize * 5.5F;
  for (const Fact& fact : facts) {
    ImGui::TextDisabled("%s", fact.name.c_str());
    ImGui::SameLine(column);
    ImGui::TextUnformatted(broken(fact.value, wrap_px - column).c_str());
  }
}

// With a button at the right that shows the fit of its kind.
void draw_selected_name(TimelinePanel& panel, const Fonts& fonts, const db::TimelineOp& op) {
  constexpr const char* kFit = "its fit";
  const float right = ImGui::GetContentRegionMax().x;
  const float button = ImGui::CalcTextSize(kFit).x + 2 * ImGui::GetStyle().FramePadding.x;
  const float room = right - ImGui::GetCursorPosX() - button - fonts.text->FontSize;
  ImGui::PushFont(fonts.bold);
  ImGui::TextUnformatted(elided(*fonts.bold, op_label(op), room).c_str());
  ImGui::PopFont();
  if (op.kind.empty()) return;
  ImGui::SameLine(right - button);
  if (ImGui::SmallButton(kFit)) panel.asked_fit = op.kind;
  if (ImGui::IsItemHovered()) ImGui::SetTooltip("the line that its time is predicted from");
}

}  // namespace

void draw_tooltip(const TimelinePanel& panel, const Fonts& fonts,
                  std::span<const StackEntry> stack) {
  if (!panel.hovered || panel.range_anchor_s) return;
  const Timeline& timeline = *stack[panel.hovered->stack].timeline;
  const SpanPosition at = panel.hovered->at;
  const LaneSpan& span = timeline.lanes[at.lane].spans[at.span];
  const db::TimelineOp& op = timeline.ops[span.op];
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
  draw_facts(first_facts(timeline, at), fonts);
  draw_facts(exposed_facts(timeline, at), fonts);
  if (span.waiting_s > 0) {
    draw_facts({{"waiting", duration_text(span.waiting_s)}}, fonts);
  }
  draw_facts(other_facts(timeline, at, transfer_s(span)), fonts);
  if (panel.hovered_count > 1) {
    ImGui::TextColored(ImVec4(0.95F, 0.72F, 0.29F, 1),
                       "one of %zu spans in this mark; zoom in with W", panel.hovered_count);
  }
  ImGui::EndTooltip();
}

void draw_selection(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack) {
  if (!panel.selected) {
    ImGui::PushStyleColor(ImGuiCol_Text, to_u32(theme::kMuted));
    ImGui::TextWrapped(
        "Click a span to see what it is and how long the same op took in the other timelines. "
        "Shift and drag marks a range for the figures.");
    ImGui::PopStyleColor();
    return;
  }
  const Timeline& timeline = *stack[panel.selected->stack].timeline;
  const LaneSpan& span = timeline.lanes[panel.selected->at.lane].spans[panel.selected->at.span];
  const db::TimelineOp& op = timeline.ops[span.op];
  draw_selected_name(panel, fonts, op);
  ImGui::PushTextWrapPos(0);
  const float right = ImGui::GetContentRegionMax().x;
  std::vector<Fact> facts = first_facts(timeline, panel.selected->at);
  const std::optional<WholeOp> own = counterpart_of_selected(panel, stack, panel.selected->stack);
  const double own_s = own ? own->duration_s : span.duration_s();
  if (own && own->spans.size() > 1) facts.push_back({"all chunks", chunks_text(*own)});
  if (const std::optional<WholeOp> beside = beside_selected(panel, stack)) {
    facts.push_back({timeline.info.kind == db::kPredicted ? "measured" : "predicted",
                     compared_text(*beside, own_s)});
  }
  draw_facts(facts, fonts, right);
  for (std::size_t s = 0; s < stack.size(); ++s) {
    if (s == panel.selected->stack) continue;
    const std::optional<WholeOp> other = counterpart_of_selected(panel, stack, s);
    if (!other) continue;
    ImGui::TextDisabled(
        "%s",
        elided(*fonts.text, fmt::format("{}, {}", stack[s].timeline->info.kind, stack[s].title),
               ImGui::GetContentRegionAvail().x)
            .c_str());
    draw_facts({{"", compared_text(*other, own_s)}}, fonts, right);
  }
  const AboutSpan& about = about_selected(panel, stack);
  draw_facts(exposed_facts(timeline, panel.selected->at), fonts, right);
  draw_facts(waiting_facts(panel, about, timeline), fonts, right);
  draw_facts(cause_facts(about, timeline, panel.selected->at), fonts, right);
  const double own_transfer_s = selected_transfer_s(about, timeline, panel.selected->at);
  draw_facts(other_facts(timeline, panel.selected->at, own_transfer_s), fonts, right);
  ImGui::PopTextWrapPos();
}

}  // namespace viewer
