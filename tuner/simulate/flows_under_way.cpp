#include "tuner/simulate/flows_under_way.h"

#include <algorithm>

namespace tuner {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();
/// Flows that would end within this share of how long they took end with the last of them: sizes
/// that differ by a row are common, and every end costs new rates for all flows.
constexpr double kTogether = 1e-4;
/// The same of the flows of ranks in large calls. What ends later keeps a share of a card a little
/// longer; the last flow of the call, with which most ranks end it, ends on time.
constexpr double kTogetherInLarge = 2e-3;
constexpr std::size_t kFewMembers = 16;  ///< whose flows end as those of single transfers do

bool stands_for_several(const OpCost& cost) {
  return std::ranges::any_of(cost.calls,
                             [](const GroupCall& call) { return !call.copies.empty(); });
}

}  // namespace

FlowsUnderWay::FlowsUnderWay(const moe::Groups& groups, const std::vector<OpCost>& costs,
                             const Cluster& cluster)
    : groups_(groups),
      costs_(costs),
      cluster_(cluster),
      folded_(std::ranges::any_of(costs, stands_for_several)),
      flows_left_(costs.size()),
      links_(costs, groups, cluster) {
  for (std::size_t op = 0; op < costs.size(); ++op) {
    for (const GroupCall& call : costs[op].calls) {
      flows_left_[op].emplace_back(call.bytes.empty() ? call.ranks.size() : 0);
    }
  }
}

std::vector<EndedMember> FlowsUnderWay::begin(double now, int op, int call) {
  const GroupCall& group = costs_[op].calls[call];
  std::vector<EndedMember> ended;
  settle(now);
  if (!group.bytes.empty()) {
    MovingCall& moving = large_calls_.emplace_back(op, call, now, group, groups_);
    changed_ = true;
    for (const int member : moving.newly_ended()) ended.push_back({op, call, member});
    if (moving.is_over()) large_calls_.pop_back();  // nothing is sent
    return ended;
  }
  std::vector<int>& left = flows_left_[op][call];
  for (const Transfer& part : group.transfers) {
    Flow flow{op,
              call,
              part.from,
              part.to,
              member_index(group, part.from),
              member_index(group, part.to),
              static_cast<double>(part.bytes),
              0,
              now,
              kNotYet,
              part.between_nodes,
              part.out,
              part.in};
    ++left[flow.from_member];
    ++left[flow.to_member];
    flows_.push_back(flow);
    changed_ = true;
  }
  for (std::size_t member = 0; member < left.size(); ++member) {
    if (left[member] == 0) ended.push_back({op, call, static_cast<int>(member)});
  }
  return ended;
}

std::vector<EndedMember> FlowsUnderWay::end(double now) {
  settle(now);
  std::vector<EndedMember> ended;
  std::erase_if(flows_, [&](const Flow& flow) {
    if (flow.end > now) return false;
    for (const int member : {flow.from_member, flow.to_member}) {
      if (--flows_left_[flow.op][flow.call][member] == 0) {
        ended.push_back({flow.op, flow.call, member});
      }
    }
    return true;
  });
  for (MovingCall& call : large_calls_) {
    for (const int member : call.end_flows(now)) ended.push_back({call.op, call.call, member});
  }
  large_calls_.remove_if([](const MovingCall& call) { return call.is_over(); });
  changed_ = true;
  next_end_ = kNotYet;
  return ended;
}

void FlowsUnderWay::share_links(double now,
                                const std::function<double(int rank, Occupation link)>& speed) {
  settle(now);
  changed_ = false;
  next_end_ = kNotYet;
  if (!large_calls_.empty() || folded_) {
    links_.share(large_calls_, flows_, speed);
  } else if (!flows_.empty()) {
    const std::vector<double> rates = flow_rates(flows_, costs_, groups_, cluster_, speed);
    for (std::size_t i = 0; i < flows_.size(); ++i) flows_[i].rate = rates[i];
    links_.forget();
  }
  find_ends(now);
}

double FlowsUnderWay::cards_busy_s(double now, const GroupCall& group) const {
  const auto node_of = [this](int rank) { return groups_.node_of[rank]; };
  double left_s = 0;
  for (const Flow& flow : flows_) {
    if (!flow.between_nodes || flow.end - now <= left_s) continue;
    const bool shares_a_card = std::ranges::any_of(group.ranks, [&](int rank) {
      return node_of(rank) == node_of(flow.from) || node_of(rank) == node_of(flow.to);
    });
    if (shares_a_card) left_s = flow.end - now;
  }
  for (const MovingCall& call : large_calls_) {
    const bool shares_a_card = std::ranges::any_of(group.ranks, [&](int rank) {
      return std::ranges::count(call.nodes, node_of(rank), &MovingCall::Node::node) > 0;
    });
    if (!shares_a_card) continue;
    call.each_under_way([&](MovingCall::Part part, const MovingCall::RankFlow& flow) {
      if (part == MovingCall::between_nodes) left_s = std::max(left_s, flow.end - now);
    });
  }
  return left_s;
}

/// What has moved by now.
void FlowsUnderWay::settle(double now) {
  const double passed_s = now - since_;
  for (Flow& flow : flows_) flow.bytes_left -= flow.rate * passed_s;
  for (MovingCall& call : large_calls_) {
    call.each_under_way([&](MovingCall::Part, MovingCall::RankFlow& flow) {
      flow.bytes_left -= flow.rate * passed_s;
    });
  }
  since_ = now;
}

/// When the next flows have ended: the first, and those that end together with it.
void FlowsUnderWay::find_ends(double now) {
  double first_end = kNotYet;
  const auto end_of = [&](auto& flow) {
    flow.end = now + std::max(flow.bytes_left, 0.0) / flow.rate;
    first_end = std::min(first_end, flow.end);
  };
  for (Flow& flow : flows_) end_of(flow);
  for (MovingCall& call : large_calls_) {
    call.each_under_way([&](MovingCall::Part, MovingCall::RankFlow& flow) { end_of(flow); });
  }
  next_end_ = first_end;
  const auto take_along = [&](double end, double began, double together) {
    if (end <= first_end + together * (first_end - began)) next_end_ = std::max(next_end_, end);
  };
  for (const Flow& flow : flows_) take_along(flow.end, flow.began, kTogether);
  for (const MovingCall& call : large_calls_) {
    const double together = call.flows.size() > kFewMembers ? kTogetherInLarge : kTogether;
    call.each_under_way([&](MovingCall::Part, const MovingCall::RankFlow& flow) {
      take_along(flow.end, call.began, together);
    });
  }
}

}  // namespace tuner
