#include "moe/train/collective_order.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>
#include <vector>

namespace moe {
namespace {

constexpr double kClockResolution_s = 1e-8;

/// Ops that end on no member of their group before all have begun them. An exchange of rows does
/// where nothing comes from a rank, and an op of the update may have been passed over.
bool needs_all_members(const Op& op) {
  return op.phase != Phase::update &&
         (counts_of(op) != nullptr || std::holds_alternative<AllReduce>(op.kind) ||
          std::holds_alternative<AllGather>(op.kind) ||
          std::holds_alternative<ReduceScatter>(op.kind) ||
          std::holds_alternative<ReduceNorm>(op.kind));
}

/// A collective call: its op, and the members that carried it out.
struct MemberSpans {
  int op = 0;
  std::vector<int> ranks = {};
  std::vector<double> begins_s = {}, ends_s = {};
};

std::vector<MemberSpans> calls_of_all_members(const Program& program, const Groups& groups,
                                              const Timeline& timeline) {
  std::vector<MemberSpans> calls;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (!needs_all_members(op)) continue;
    std::set<int> done;
    for (int rank = 0; rank < groups.ranks; ++rank) {
      if (done.contains(rank)) continue;
      MemberSpans call{.op = static_cast<int>(i)};
      for (const int member : members(groups, *group_of(op), rank)) {
        done.insert(member);
        const std::vector<OpSpan>& spans = timeline.ranks[static_cast<std::size_t>(member)];
        const auto span = std::ranges::lower_bound(spans, call.op, {}, &OpSpan::op);
        if (span == spans.end() || span->op != call.op) continue;
        call.ranks.push_back(member);
        call.begins_s.push_back(span->start_s);
        call.ends_s.push_back(span->start_s + span->duration_s);
      }
      if (call.ranks.size() > 1) calls.push_back(std::move(call));
    }
  }
  return calls;
}

/// The pairs that make a rank's clock doubtful.
struct Doubt {
  int ended = 0, begun = 0;        ///< pairs in which it ended too early, or began too late
  double early_s = 0, late_s = 0;  ///< by how much at most
};

WrongOrder find_doubts(const std::vector<MemberSpans>& calls, const std::vector<double>& shift_s,
                       std::vector<Doubt>& doubts) {
  WrongOrder worst;
  for (const MemberSpans& call : calls) {
    const auto shifted = [&](const std::vector<double>& times, std::size_t at) {
      return times[at] + shift_s[static_cast<std::size_t>(call.ranks[at])];
    };
    double last_begin_s = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < call.ranks.size(); ++i) {
      last_begin_s = std::max(last_begin_s, shifted(call.begins_s, i));
    }
    for (std::size_t i = 0; i < call.ranks.size(); ++i) {
      const double end_s = shifted(call.ends_s, i);
      if (end_s >= last_begin_s) continue;
      for (std::size_t j = 0; j < call.ranks.size(); ++j) {
        const double apart_s = shifted(call.begins_s, j) - end_s;
        if (apart_s <= kClockResolution_s) continue;
        Doubt& ended = doubts[static_cast<std::size_t>(call.ranks[i])];
        Doubt& begun = doubts[static_cast<std::size_t>(call.ranks[j])];
        ++ended.ended;
        ++begun.begun;
        ended.early_s = std::max(ended.early_s, apart_s);
        begun.late_s = std::max(begun.late_s, apart_s);
        if (apart_s > worst.apart_s) worst = {call.op, call.ranks[i], call.ranks[j], apart_s};
      }
    }
  }
  return worst;
}

}  // namespace

ShiftedRanks shift_into_order(const Program& program, const Groups& groups, Timeline& timeline) {
  const std::vector<MemberSpans> calls = calls_of_all_members(program, groups, timeline);
  const std::size_t ranks = timeline.ranks.size();
  ShiftedRanks shifted{.by_s = std::vector<double>(ranks)};
  // Each step mends a rank; where a clock's rate changed within the iteration no shift mends all.
  for (std::size_t step = 0; step < 2 * ranks; ++step) {
    std::vector<Doubt> doubts(ranks);
    const WrongOrder now = find_doubts(calls, shifted.by_s, doubts);
    if (step == 0) shifted.worst = now;
    if (now.op < 0) break;
    // Of ranks alike the last, so that rank 0's clock stays the one that is right.
    const auto pairs = [](const Doubt& doubt) { return doubt.ended + doubt.begun; };
    std::size_t rank = 0;
    for (std::size_t other = 1; other < ranks; ++other) {
      if (pairs(doubts[other]) >= pairs(doubts[rank])) rank = other;
    }
    const Doubt& doubt = doubts[rank];
    shifted.by_s[rank] += doubt.begun >= doubt.ended ? -doubt.late_s : doubt.early_s;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (shifted.by_s[rank] == 0) continue;
    for (OpSpan& span : timeline.ranks[rank]) span.start_s += shifted.by_s[rank];
  }
  return shifted;
}

}  // namespace moe
