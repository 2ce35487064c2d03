#include "tuner/simulate/critical_path.h"

#include <algorithm>

#include "moe/program/start_rule.h"

namespace tuner {
namespace {

constexpr int kNone = -1;

double end_of(const moe::OpSpan& span) { return span.start_s + span.duration_s; }

/// The span of an op; op -1 where it is of another stage.
moe::OpSpan span_in(const std::vector<moe::OpSpan>& spans, int op) {
  const auto found = std::ranges::lower_bound(spans, op, {}, &moe::OpSpan::op);
  return found == spans.end() || found->op != op ? moe::OpSpan{kNone, 0, 0} : *found;
}

}  // namespace

std::vector<PathStep> critical_path(const moe::Program& program, const std::vector<OpCost>& costs,
                                    const moe::Timeline& timeline) {
  const moe::StartRule rule = moe::start_rule(program);
  const auto& spans = timeline.ranks;
  const auto span_at = [&](int rank, int op) { return span_in(spans[rank], op); };
  PathStep step{kNone, 0, 0};
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    for (const moe::OpSpan& span : spans[rank]) {
      if (step.op == kNone || end_of(span) > end_of(span_at(step.rank, step.op))) {
        step = {span.op, static_cast<int>(rank), 0};
      }
    }
  }
  std::vector<PathStep> path;
  while (step.op != kNone) {
    const OpCost& cost = costs[step.op];
    const double end = end_of(span_at(step.rank, step.op));
    if (cost.activity == moe::Activity::communication) {
      const int call = cost.call_of[step.rank];
      for (const int member : cost.calls[call].ranks) {
        if (span_at(member, step.op).start_s > span_at(step.rank, step.op).start_s) {
          step.rank = member;
        }
      }
    }
    const double start = span_at(step.rank, step.op).start_s;
    step.seconds = end - start;
    path.push_back(step);

    const auto place = static_cast<std::size_t>(step.op);
    PathStep before{kNone, step.rank, 0};
    const auto offer = [&](int op) {
      if (span_at(step.rank, op).op == kNone) return;
      if (before.op == kNone ||
          end_of(span_at(step.rank, op)) > end_of(span_at(step.rank, before.op))) {
        before.op = op;
      }
    };
    for (const int earlier : rule.waits_for[place]) offer(earlier);
    const auto& queue = rule.queues[static_cast<std::size_t>(rule.stream[place])];
    for (int i = rule.place[place] - 1; i >= 0; --i) {
      const int earlier = queue[i];
      if (span_at(step.rank, earlier).op == kNone) continue;
      offer(earlier);
      break;
    }
    step = before;
  }
  return path;
}

}  // namespace tuner
