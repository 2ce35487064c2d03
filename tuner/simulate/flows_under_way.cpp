#include "tuner/simulate/flows_under_way.h"

#include <algorithm>

#include "tuner/costs/call_buffers.h"
#include "tuner/costs/call_loads.h"

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
constexpr double kRoundingBytes = 1e-3;  ///< more than sums of bytes are off by rounding

bool stands_for_several(const OpCost& cost) {
  return std::ranges::any_of(cost.calls,
                             [](const GroupCall& call) { return !call.copies.empty(); });
}

}  // namespace

FlowsUnderWay::FlowsUnderWay(const moe::Program& program, const moe::Groups& groups,
                             const std::vector<OpCost>& costs, const Cluster& cluster)
    : program_(program),
      groups_(groups),
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

Flow FlowsUnderWay::flow_of(double now, int op, int call, const Transfer& part) const {
  const GroupCall& group = costs_[op].calls[call];
  Flow flow;
  flow.op = op;
  flow.call = call;
  flow.from = part.from;
  flow.to = part.to;
  flow.from_member = member_index(group, part.from);
  flow.to_member = member_index(group, part.to);
  flow.bytes_left = static_cast<double>(part.bytes);
  flow.began = now;
  flow.between_nodes = part.between_nodes;
  flow.out = part.out;
  flow.in = part.in;
  flow.levels = part.levels;
  flow.relay = part.relay;
  if (part.relay >= 0) flow.relay_member = member_index(group, part.relay);
  flow.relayed = part.relayed;
  return flow;
}

void FlowsUnderWay::send(double now, int op, int call, int rank) {
  settle(now);
  join(now, op, call, member_index(costs_[op].calls[call], rank));
}

/// The member's messages to other nodes begin to move, and those to it need not wait for it.
void FlowsUnderWay::join(double now, int op, int call, int member) {
  const OpCost& cost = costs_[op];
  const GroupCall& group = cost.calls[call];
  Exchange& exchange = exchanges_[{op, call}];
  if (exchange.there.empty()) {
    exchange.there.resize(group.ranks.size());
    std::vector<int>& left = flows_left_[op][call];
    left.assign(group.ranks.size(), 1);  // until all are there
    for (const Transfer& part : group.transfers) {
      ++left[member_index(group, part.from)];
      ++left[member_index(group, part.to)];
    }
  }
  if (exchange.there[member]) return;
  exchange.there[member] = true;
  channels_.receiver_came(now, {op, call, member}, flows_);
  for (const Transfer& part : group.transfers) {
    if (!part.between_nodes || part.from != group.ranks[member]) continue;
    Flow message = flow_of(now, op, call, part);
    message.channel = channels_.number_of(program_.ops[op].stream, part.from, part.to);
    if (!exchange.there[message.to_member]) {
      message.held_bytes = std::max(message.bytes_left - cost.buffers.ahead_bytes, 0.0);
    }
    channels_.add(now, std::move(message), flows_);
  }
  changed_ = true;
}

std::vector<CallMember> FlowsUnderWay::begin_exchange(double now, int op, int call) {
  const GroupCall& group = costs_[op].calls[call];
  std::vector<CallMember> ended;
  for (std::size_t member = 0; member < group.ranks.size(); ++member) {
    join(now, op, call, static_cast<int>(member));
  }
  exchanges_[{op, call}].all_there = true;
  for (const Transfer& part : group.transfers) {
    if (!part.between_nodes) flows_.push_back(flow_of(now, op, call, part));
  }
  for (std::size_t member = 0; member < group.ranks.size(); ++member) {
    note_end(op, call, static_cast<int>(member), ended);
  }
  let_senders_go(ended);
  return ended;
}

std::vector<CallMember> FlowsUnderWay::begin(double now, int op, int call) {
  const GroupCall& group = costs_[op].calls[call];
  std::vector<CallMember> ended;
  settle(now);
  if (uses_buffers(costs_[op], group)) return begin_exchange(now, op, call);
  if (!group.bytes.empty()) {
    MovingCall& moving = large_calls_.emplace_back(op, call, now, group, groups_);
    changed_ = true;
    for (const int member : moving.newly_ended()) ended.push_back({op, call, member});
    if (moving.is_over()) large_calls_.pop_back();  // nothing is sent
    return ended;
  }
  std::vector<int>& left = flows_left_[op][call];
  for (const Transfer& part : group.transfers) {
    const Flow& flow = flows_.emplace_back(flow_of(now, op, call, part));
    ++left[flow.from_member];
    ++left[flow.to_member];
    changed_ = true;
  }
  for (std::size_t member = 0; member < left.size(); ++member) {
    if (left[member] == 0) ended.push_back({op, call, static_cast<int>(member)});
  }
  return ended;
}

/// One thing less that the member waits for.
void FlowsUnderWay::note_end(int op, int call, int member, std::vector<CallMember>& ended) {
  if (--flows_left_[op][call][member] == 0) ended.push_back({op, call, member});
}

/// Whether the sender of the last message of a channel need not wait for what is still to leave.
bool FlowsUnderWay::may_let_go(const Channel& channel) const {
  return channel.sender_waits && exchanges_.at({channel.sender.op, channel.sender.call}).all_there;
}

/// Of a flow under way, the bytes that are left when it ends, when it waits for its receiver, or
/// when the sender of its channel goes on.
double FlowsUnderWay::bytes_at_next_stop(const Flow& flow) const {
  if (flow.channel < 0) return 0;
  const Channel& channel = channels_.at(flow.channel);
  if (!may_let_go(channel)) return flow.held_bytes;
  const double at_release =
      costs_[channel.sender.op].buffers.leaving_bytes - channel.waiting_bytes();
  return std::clamp(at_release, flow.held_bytes, std::max(flow.bytes_left, flow.held_bytes));
}

/// The sender of the last message of a channel goes on.
void FlowsUnderWay::let_go(Channel& channel, std::vector<CallMember>& ended) {
  channel.sender_waits = false;
  note_end(channel.sender.op, channel.sender.call, channel.sender.member, ended);
}

/// What a flow that has come to its stop does. False: it moves on, and its sender alone is free.
bool FlowsUnderWay::end_or_hold(Flow& flow, std::vector<CallMember>& ended) {
  if (flow.channel < 0) {
    for (const int member : {flow.from_member, flow.to_member}) {
      note_end(flow.op, flow.call, member, ended);
    }
    return true;
  }
  Channel& channel = channels_.at(flow.channel);
  if (flow.stop_bytes > flow.held_bytes) {
    if (may_let_go(channel)) let_go(channel, ended);
    return false;
  }
  channel.moves = false;
  if (flow.held_bytes > 0) {
    flow.bytes_left = flow.held_bytes;
    channel.waiting.push_front(flow);
  } else {
    note_end(flow.op, flow.call, flow.to_member, ended);
  }
  return true;
}

/// Ends calls for the senders of channels in which little enough is left.
void FlowsUnderWay::let_senders_go(std::vector<CallMember>& ended) {
  std::vector<double> moving(channels_.size());
  for (const Flow& flow : flows_) {
    if (flow.channel >= 0) moving[flow.channel] = flow.bytes_left;
  }
  for (std::size_t number = 0; number < channels_.size(); ++number) {
    Channel& channel = channels_.at(static_cast<int>(number));
    if (!may_let_go(channel)) continue;
    const double left = moving[number] + channel.waiting_bytes();
    const double leaving = costs_[channel.sender.op].buffers.leaving_bytes;
    if (left <= leaving + kRoundingBytes) let_go(channel, ended);
  }
}

std::vector<CallMember> FlowsUnderWay::end(double now) {
  settle(now);
  std::vector<CallMember> ended;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].end <= now && end_or_hold(flows_[i], ended)) continue;
    if (kept != i) flows_[kept] = flows_[i];
    ++kept;
  }
  flows_.resize(kept);
  for (std::size_t number = 0; number < channels_.size(); ++number) {
    channels_.move_next(now, static_cast<int>(number), flows_);
  }
  let_senders_go(ended);
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

double FlowsUnderWay::cards_busy_s(double now, const GroupCall& group, moe::Stream stream) const {
  const auto card_of = [this](int rank) { return moe::network_card(groups_, rank); };
  const auto is_in_group = [&](int rank) { return std::ranges::binary_search(group.ranks, rank); };
  double left_s = 0;
  for (const Flow& flow : flows_) {
    if (!flow.between_nodes) continue;
    const bool is_followed = flow.channel >= 0 && channels_.at(flow.channel).stream == stream &&
                             is_in_group(flow.from) && is_in_group(flow.to);
    if (is_followed) continue;
    const double flow_left_s = (flow.bytes_left - flow.held_bytes) / flow.rate - (now - since_);
    if (flow_left_s <= left_s) continue;
    const bool shares_a_card = std::ranges::any_of(group.ranks, [&](int rank) {
      return card_of(rank) == card_of(sender_of(flow)) || card_of(rank) == card_of(flow.to);
    });
    if (shares_a_card) left_s = flow_left_s;
  }
  for (const MovingCall& call : large_calls_) {
    const bool shares_a_card = std::ranges::any_of(group.ranks, [&](int rank) {
      return std::ranges::count(call.group->ranks, card_of(rank), card_of) > 0;
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
  for (Flow& flow : flows_) {
    flow.bytes_left = std::max(flow.bytes_left - flow.rate * passed_s, flow.stop_bytes);
  }
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
  const auto end_of = [&](auto& flow, double stop_bytes) {
    flow.end = now + std::max(flow.bytes_left - stop_bytes, 0.0) / flow.rate;
    first_end = std::min(first_end, flow.end);
  };
  for (Flow& flow : flows_) {
    flow.stop_bytes = bytes_at_next_stop(flow);
    end_of(flow, flow.stop_bytes);
  }
  for (MovingCall& call : large_calls_) {
    call.each_under_way([&](MovingCall::Part, MovingCall::RankFlow& flow) { end_of(flow, 0); });
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
