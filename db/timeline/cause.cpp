#include "db/timeline/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "db/console/format_rows.h"
#include "db/timeline/op_label.h"

namespace db {

namespace {

// The span of an op on a rank that ended last before `begin_s`, or the first that there is.
std::optional<SpanPosition> done_before(const Timeline& timeline, const SpanIndex& index,
                                        std::int32_t op, int rank, double begin_s) {
  std::optional<SpanPosition> found;
  for (const SpanPosition at : index.of(op)) {
    if (rank_at(timeline, at) != rank) continue;
    if (found && span_at(timeline, at).end_s > begin_s + kTouching_s) continue;
    found = at;
  }
  return found;
}

std::optional<SpanPosition> before_on_stream(const Timeline& timeline, SpanPosition at) {
  const Lane& own = timeline.lanes[at.lane];
  std::optional<SpanPosition> last;
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const Lane& lane = timeline.lanes[l];
    if (lane.rank != own.rank || lane.stream != own.stream) continue;
    const std::size_t after =
        l == at.lane ? at.span : first_starting_at(lane, own.spans[at.span].start_s);
    if (after == 0) continue;
    const SpanPosition before{l, after - 1};
    if (!last || span_at(timeline, before).end_s > span_at(timeline, *last).end_s) last = before;
  }
  return last;
}

// ", which ran experts down 4/4", and for how long where that was not nearly all of the waiting.
std::string hold_text(const Timeline& timeline, const Hold& hold, double waiting_s) {
  constexpr double kNearlyAll = 0.9;
  std::string text = ", which ran " + op_label(op_at(timeline, hold.at));
  if (hold.seconds > 0 && hold.seconds < kNearlyAll * waiting_s) {
    text += fmt::format(" for {} of it", format_cell("_s", hold.seconds));
  }
  return text;
}

}  // namespace

std::string_view reason_name(Reason reason) {
  switch (reason) {
    case Reason::stream:
      return "same stream";
    case Reason::data:
      return "data";
    case Reason::rendezvous:
      return "last rank";
  }
  return "";
}

bool knows_causes(const Timeline& timeline) { return !timeline.waits_for.empty(); }

SpanPosition begun_last(const Timeline& timeline, const SpanIndex& index, SpanPosition at) {
  const std::optional<Collective> collective = collective_at(timeline, index, at);
  if (!collective) return at;
  const bool waited = waiting_of(timeline, *collective, at).length_s() > 0;
  return waited ? collective->parts[collective->last] : at;
}

std::vector<Cause> causes_of(const Timeline& timeline, const SpanIndex& index, SpanPosition at) {
  const LaneSpan& span = span_at(timeline, at);
  std::vector<Cause> causes;
  const auto add = [&](SpanPosition before, Reason reason, double at_s) {
    const bool known = std::any_of(causes.begin(), causes.end(),
                                   [&](const Cause& cause) { return cause.at == before; });
    if (!known && before != at) causes.push_back({before, reason, at_s});
  };
  const SpanPosition last = begun_last(timeline, index, at);
  if (last != at) add(last, Reason::rendezvous, span_at(timeline, last).start_s);
  if (knows_causes(timeline)) {
    for (const std::int32_t op : timeline.waits_for[static_cast<std::size_t>(span.op)]) {
      const std::optional<SpanPosition> before =
          done_before(timeline, index, op, rank_at(timeline, at), span.start_s);
      if (before) add(*before, Reason::data, span_at(timeline, *before).end_s);
    }
  }
  if (const std::optional<SpanPosition> before = before_on_stream(timeline, at)) {
    add(*before, Reason::stream, span_at(timeline, *before).end_s);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& a, const Cause& b) { return a.at_s > b.at_s; });
  return causes;
}

std::optional<SpanPosition> released_by(const Timeline& timeline, const SpanIndex& index,
                                        SpanPosition at) {
  const LaneSpan& own = span_at(timeline, at);
  for (const Cause& cause : causes_of(timeline, index, at)) {
    // Clocks that differ a little must not lead in a circle, nor spans without a length.
    const LaneSpan& span = span_at(timeline, cause.at);
    const bool no_length = span.end_s == own.start_s && span.op < own.op;
    const bool earlier = span.start_s < own.start_s || (span.start_s == own.start_s && no_length);
    if (earlier && cause.reason != Reason::rendezvous) return cause.at;
  }
  return std::nullopt;
}

std::optional<Hold> held_up_by(const Timeline& timeline, const SpanIndex& index, SpanPosition at,
                               double from_s) {
  std::optional<Hold> longest;
  const bool known = knows_causes(timeline);
  double until_s = span_at(timeline, at).start_s;
  while (longest == std::nullopt || until_s > from_s) {
    const std::optional<SpanPosition> before =
        known ? released_by(timeline, index, at) : kept_by(timeline, at);
    if (!before) break;
    const LaneSpan& span = span_at(timeline, *before);
    const double seconds = std::min(span.end_s, until_s) - std::max(span.start_s, from_s);
    if (!longest || seconds > longest->seconds) longest = Hold{*before, std::max(seconds, 0.0)};
    const bool may_go_on = span.start_s < until_s || (known && span.start_s == until_s);
    if (!may_go_on) break;  // clocks, or spans without a length, that lead in a circle
    until_s = span.start_s;
    at = *before;
  }
  return longest;
}

std::string waiting_text(const Timeline& timeline, const SpanIndex& index, SpanPosition at) {
  const std::optional<Collective> collective = collective_at(timeline, index, at);
  if (!collective || collective->parts.size() < 2) return "";
  const SpanPosition last = collective->parts[collective->last];
  const double waiting_s = waiting_of(timeline, *collective, at).length_s();
  if (waiting_s > 0) {
    const std::optional<Hold> hold =
        held_up_by(timeline, index, last, span_at(timeline, at).start_s);
    return fmt::format("waited {} for rank {}{}", format_cell("_s", waiting_s),
                       rank_at(timeline, last), hold ? hold_text(timeline, *hold, waiting_s) : "");
  }
  double longest_s = 0;
  int longest = 0;
  for (const SpanPosition part : collective->parts) {
    const double part_s = waiting_of(timeline, *collective, part).length_s();
    if (part_s > longest_s) longest_s = part_s, longest = rank_at(timeline, part);
  }
  if (!(longest_s > 0)) return "all ranks began together";
  return fmt::format("last to begin; rank {} waited {}", longest, format_cell("_s", longest_s));
}

}  // namespace db
