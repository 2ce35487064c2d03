#include "tuner/simulate/link_filling.h"

#include <algorithm>
#include <functional>

namespace tuner {
namespace {

/// Levels that differ by rounding alone are one.
constexpr double kSameLevel = 1e-9;

}  // namespace

double LinkFilling::Fill::level() const { return std::max(left, 0.0) / rising; }

void LinkFilling::clear() {
  calls_.clear();
  nodes_.clear();
  sides_.clear();
  pairs_.clear();
  links_.clear();
  members_.clear();
  crossings_.clear();
  flows_.clear();
  listed_.clear();
  for (const std::size_t used : shared_used_) shared_[used] = -1;
  shared_used_.clear();
  of_pairs_.clear();
  own_links_.clear();
  own_.clear();
  levels_.clear();
}

int LinkFilling::add_call(const MovingCall& call) {
  calls_.push_back({&call, {}});
  return static_cast<int>(calls_.size()) - 1;
}

double LinkFilling::fitted(const OpCost& cost, MovingCall::Part part) const {
  return part == MovingCall::between_nodes ? cost.inter_node_bytes_per_s
                                           : cost.intra_node_bytes_per_s;
}

int LinkFilling::add_node(int number, int n, MovingCall::Part part) {
  const MovingCall& call = *calls_[number].moving;
  const Way driving = call.group->by_source ? kOut : kIn;
  Node& node = nodes_.emplace_back();
  node.call = number;
  node.node = n;
  node.part = part;
  node.first_side = static_cast<int>(sides_.size());
  node.members = static_cast<int>(call.nodes[n].members.size());
  node.copies = call.nodes[n].copies;
  for (const int member : call.nodes[n].members) {
    Sides& sides = sides_.emplace_back();
    const double capacity =
        fitted(costs_[call.op], part) * speeds_.of(call.group->ranks[member], call.group->link);
    for (const Way way : kWays) {
      sides[way].capacity = capacity;
      sides[way].rises =
          way == driving ? call.flows[member][part].under_way : call.other_side[member][part];
      node.sums[way].rising += sides[way].rises ? 1 : 0;
    }
  }
  if (part == MovingCall::within_node && cluster_.mesh) list_transfers(node);
  return static_cast<int>(nodes_.size()) - 1;
}

/// Each crosses the link of its pair, which others cross too.
void LinkFilling::list_transfers(Node& node) {
  const MovingCall& call = *calls_[node.call].moving;
  const std::vector<int>& members = call.nodes[node.node].members;
  node.first_listed = static_cast<int>(listed_.size());
  listed_.resize(listed_.size() + members.size());
  for (int from = 0; from < node.members; ++from) {
    for (int to = 0; to < node.members; ++to) {
      const bool moves =
          sides_[node.first_side + from][kOut].rises && sides_[node.first_side + to][kIn].rises;
      if (from == to || !moves) continue;
      Flow& flow = flows_.emplace_back();
      flow.op = call.op;
      flow.call = call.call;
      flow.from_member = members[from];
      flow.to_member = members[to];
      flow.from = call.group->ranks[members[from]];
      flow.to = call.group->ranks[members[to]];
      listed_[node.first_listed + (call.group->by_source ? from : to)].push_back(add_pair(flow));
    }
  }
}

int LinkFilling::add_pair(const Flow& flow) {
  pairs_.push_back({&flow});
  return static_cast<int>(pairs_.size()) - 1;
}

int LinkFilling::new_link(double capacity) {
  links_.emplace_back().capacity = capacity;
  return static_cast<int>(links_.size()) - 1;
}

int LinkFilling::shared_link(std::size_t place, double capacity) {
  if (shared_.size() <= place) shared_.resize(place + 1, -1);
  if (shared_[place] < 0) {
    shared_[place] = new_link(capacity);
    shared_used_.push_back(place);
  }
  return shared_[place];
}

int LinkFilling::card_link(int rank, Way way) {
  // Neither cards nor blocks are more than ranks.
  return shared_link(static_cast<std::size_t>(2 * moe::network_card(groups_, rank) + way),
                     cluster_.inter_node.bandwidth_bytes_per_s);
}

int LinkFilling::rank_link(int rank, Way way) {
  return shared_link(static_cast<std::size_t>(2 * (groups_.ranks + rank) + way),
                     cluster_.intra_node.bandwidth_bytes_per_s);
}

int LinkFilling::uplink(std::size_t level, int rank, Way way) {
  const auto block = static_cast<std::size_t>(groups_.levels[level].block_of[rank]);
  const std::size_t before = (2 + level) * static_cast<std::size_t>(groups_.ranks);
  return shared_link(2 * (before + block) + way,
                     cluster_.levels[level].uplink.bandwidth_bytes_per_s);
}

/// The link by which bytes leave a rank for another one of its node.
int LinkFilling::link_to(int from, int to) {
  if (!cluster_.mesh) return rank_link(from, kOut);
  const auto [found, is_new] = of_pairs_.try_emplace({from, to}, 0);
  if (is_new) found->second = new_link(bytes_per_s_of_pair(cluster_));
  return found->second;
}

void LinkFilling::add_member(int link, const Member& member) {
  const auto place = static_cast<int>(members_.size());
  members_.push_back(member);
  SharedLink& shared = links_[link];
  (shared.last_member < 0 ? shared.first_member : members_[shared.last_member].next) = place;
  shared.last_member = place;
}

void LinkFilling::add_links_of(int place) {
  const Node& node = nodes_[place];
  if (node.first_listed >= 0) return;
  const MovingCall& call = *calls_[node.call].moving;
  const MovingCall::Node& of_call = call.nodes[node.node];
  const bool between = node.part == MovingCall::between_nodes;
  for (const Way way : kWays) {
    const bool through_one_card = between && groups_.card_of.empty();
    if (through_one_card && node.sums[way].rising > 0) {
      add_member(card_link(call.group->ranks[of_call.members.front()], way), {place, -1, way});
    }
    for (int i = 0; i < node.members; ++i) {
      const Side& side = sides_[node.first_side + i][way];
      if (!side.rises) continue;
      if (between && way == kOut && cluster_.receivers_card) {
        add_relays_of(place, i);
        continue;
      }
      const Member member{place, node.first_side + i, way};
      const int rank = call.group->ranks[of_call.members[i]];
      add_member(new_link(side.capacity), member);
      if (!between) add_member(rank_link(rank, way), member);
      if (between && !through_one_card) add_member(card_link(rank, way), member);
      if (between) add_shares_of(place, i, way);
    }
  }
}

/// What the node's i-th member has of the uplinks of its blocks.
void LinkFilling::add_shares_of(int place, int i, Way way) {
  const Node& node = nodes_[place];
  const GroupCall& group = *calls_[node.call].moving->group;
  const int member = calls_[node.call].moving->nodes[node.node].members[i];
  const RankBytes& bytes = group.bytes[member];
  const int rank = group.ranks[member];
  for (std::size_t level = 0; level < groups_.levels.size(); ++level) {
    const double crossing = way == kOut ? bytes.out_of_block[level] : bytes.into_block[level];
    if (!(crossing > 0)) continue;
    const double share = crossing / (way == kOut ? bytes.out_between : bytes.in_between);
    add_member(uplink(level, rank, way), {place, node.first_side + i, way,
                                          share * moe::ranks_alike(groups_.levels[level], rank)});
  }
}

/// By which ranks of its node the i-th member's bytes leave. Their shares are those of the node.
void LinkFilling::add_relays_of(int place, int i) {
  const Node& node = nodes_[place];
  const MovingCall& call = *calls_[node.call].moving;
  const GroupCall& group = *call.group;
  const std::vector<int>& members = call.nodes[node.node].members;
  const RankBytes& own = group.bytes[members[i]];
  const int rank = group.ranks[members[i]];
  double all = 0;
  for (const int member : members) all += group.bytes[member].for_other_nodes();
  const auto share_in = [&](int link, double share) {
    if (share > 0) add_member(link, {place, node.first_side + i, kOut, share});
  };
  share_in(rank_link(rank, kOut), cluster_.mesh ? 0 : own.passed_on / own.for_other_nodes());
  for (const int member : members) {
    const RankBytes& bytes = group.bytes[member];
    const int relay = group.ranks[member];
    share_in(own_link(call.op, call.call, member, node.part, kOut), bytes.out_between / all);
    share_in(card_link(relay, kOut), bytes.out_between / all);
    for (std::size_t level = 0; level < groups_.levels.size(); ++level) {
      share_in(uplink(level, relay, kOut),
               bytes.out_of_block[level] / all * moe::ranks_alike(groups_.levels[level], relay));
    }
    const double of_others = all - bytes.for_other_nodes();
    if (relay == rank || !(of_others > 0)) continue;
    share_in(rank_link(relay, kIn), bytes.relayed / of_others);
    if (cluster_.mesh) share_in(link_to(rank, relay), bytes.relayed / of_others);
  }
}

/// The bandwidth of a member in a call.
int LinkFilling::own_link(int op, int call, int member, MovingCall::Part part, Way way) {
  auto found = std::find_if(own_links_.rbegin(), own_links_.rend(), [&](const OwnLinks& known) {
    return known.op == op && known.call == call;
  });
  const GroupCall& group = costs_[op].calls[call];
  if (found == own_links_.rend()) {
    own_links_.push_back({op, call, static_cast<int>(own_.size())});
    own_.resize(own_.size() + 4 * group.ranks.size(), -1);
    found = own_links_.rbegin();
  }
  int& link = own_[found->first + 4 * member + 2 * part + way];
  if (link < 0) {
    link = new_link(fitted(costs_[op], part) * speeds_.of(group.ranks[member], group.link));
  }
  return link;
}

void LinkFilling::add_crossing(int pair, int link, double count) {
  const auto place = static_cast<int>(crossings_.size());
  crossings_.push_back({pair, link, count});
  ++pairs_[pair].crossings;
  SharedLink& shared = links_[link];
  (shared.last_crossing < 0 ? shared.first_crossing : crossings_[shared.last_crossing].next) =
      place;
  shared.last_crossing = place;
  shared.pairs_rising += count;
}

void LinkFilling::add_links_of_pair(int pair) {
  const Flow& flow = *pairs_[pair].flow;
  pairs_[pair].first_crossing = static_cast<int>(crossings_.size());
  const auto cross = [&](int link, double count) { add_crossing(pair, link, count); };
  const auto own = [&](int member, Way way) {
    const auto part = flow.between_nodes ? MovingCall::between_nodes : MovingCall::within_node;
    return own_link(flow.op, flow.call, member, part, way);
  };
  if (!flow.between_nodes) {
    cross(link_to(flow.from, flow.to), flow.out);
    cross(rank_link(flow.to, kIn), flow.in);
    cross(own(flow.from_member, kOut), flow.out);
    cross(own(flow.to_member, kIn), flow.in);
    return;
  }
  const int sender = sender_of(flow);
  const double sent = sent_by_each(flow);
  cross(card_link(sender, kOut), sent);
  cross(card_link(flow.to, kIn), flow.in);
  cross(own(flow.relay < 0 ? flow.from_member : flow.relay_member, kOut), sent);
  cross(own(flow.to_member, kIn), flow.in);
  if (flow.relay >= 0) {
    cross(link_to(flow.from, flow.relay), flow.out);
    cross(rank_link(flow.relay, kIn), flow.relayed);
  }
  for (int level = 0; level < flow.levels; ++level) {
    const moe::Level& blocks = groups_.levels[level];
    cross(uplink(level, sender, kOut), sent * moe::ranks_alike(blocks, sender));
    cross(uplink(level, flow.to, kIn), flow.in * moe::ranks_alike(blocks, flow.to));
  }
}

/// The sides that the transfers of a side end at.
LinkFilling::Sums LinkFilling::others(const Node& node, int side, Way way) const {
  const Way far = opposite(way);
  const Sums& here = node.sums[far];
  if (node.part == MovingCall::between_nodes) {
    const Sums& all = calls_[node.call].all[far];
    return {all.rising - here.rising, all.levels - here.levels};
  }
  const Side& own = sides_[side][far];  // nothing goes to oneself
  return {here.rising - (own.rises ? 1 : 0), here.levels - own.level};
}

LinkFilling::Fill LinkFilling::filled(const SharedLink& link) const {
  Fill fill{link.capacity - link.pairs_rate, link.pairs_rising};
  for (int m = link.first_member; m >= 0; m = members_[m].next) {
    const Member& member = members_[m];
    const Node& node = nodes_[member.node];
    if (member.side < 0) {
      const Sums far = others(node, member.side, member.way);
      const double rising = node.sums[member.way].rising;
      fill.left -= node.rates[member.way] + rising * far.levels;
      fill.rising += rising * far.rising;
    } else if (const Side& one = sides_[member.side][member.way]; one.rises) {
      const Sums far = others(node, member.side, member.way);
      fill.left -= member.share * far.levels;
      fill.rising += member.share * far.rising;
    } else {
      fill.left -= member.share * one.rate;
    }
  }
  // Counts are whole or shares of few: what is far below is rounding.
  if (fill.rising < 1e-6) fill.rising = 0;
  return fill;
}

void LinkFilling::stop_side(Node& node, int side, Way way, double level) {
  Side& one = sides_[side][way];
  if (!one.rises) return;
  const Sums far = others(node, side, way);
  one.rises = false;
  one.level = level;
  one.rate = far.levels + level * far.rising;
  Sums& here = node.sums[way];
  here.rising -= 1;
  here.levels += level;
  if (node.part != MovingCall::between_nodes) return;
  node.rates[way] += one.rate;
  Sums& all = calls_[node.call].all[way];
  all.rising -= node.copies;
  all.levels += node.copies * level;
}

void LinkFilling::stop(const SharedLink& link, double level) {
  for (int m = link.first_member; m >= 0; m = members_[m].next) {
    const Member& member = members_[m];
    Node& node = nodes_[member.node];
    if (member.side >= 0) {
      stop_side(node, member.side, member.way, level);
      continue;
    }
    for (int i = 0; i < node.members; ++i) stop_side(node, node.first_side + i, member.way, level);
  }
  for (int c = link.first_crossing; c >= 0; c = crossings_[c].next) {
    Pair& pair = pairs_[crossings_[c].pair];
    if (pair.rate >= 0) continue;
    pair.rate = level;
    for (int i = 0; i < pair.crossings; ++i) {
      const Crossing& crossed = crossings_[pair.first_crossing + i];
      links_[crossed.link].pairs_rising -= crossed.count;
      links_[crossed.link].pairs_rate += crossed.count * level;
    }
  }
}

void LinkFilling::fill() {
  for (const Node& node : nodes_) {
    if (node.part != MovingCall::between_nodes) continue;
    for (const Way way : kWays) {
      calls_[node.call].all[way].rising += node.copies * node.sums[way].rising;
    }
  }
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    add_links_of(static_cast<int>(place));
  }
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    add_links_of_pair(static_cast<int>(pair));
  }
  for (std::size_t link = 0; link < links_.size(); ++link) {
    const Fill now = filled(links_[link]);
    if (now.rising > 0) levels_.emplace_back(now.level(), static_cast<int>(link));
  }
  const std::greater<> lowest_first;
  std::ranges::make_heap(levels_, lowest_first);
  while (!levels_.empty()) {
    std::ranges::pop_heap(levels_, lowest_first);
    const auto [level, link] = levels_.back();
    const Fill now = filled(links_[link]);
    // Levels only grow while others stop, so an entry that is out of date is put back.
    if (now.rising > 0 && now.level() > level * (1 + kSameLevel)) {
      levels_.back().first = now.level();
      std::ranges::push_heap(levels_, lowest_first);
      continue;
    }
    levels_.pop_back();
    if (now.rising > 0) stop(links_[link], level);
  }
}

double LinkFilling::rate(int place, int i) const {
  const Node& node = nodes_[place];
  if (node.first_listed >= 0) {
    double sum = 0;
    for (const int pair : listed_[node.first_listed + i]) sum += pairs_[pair].rate;
    return sum;
  }
  const Call& call = calls_[node.call];
  const Way way = call.moving->group->by_source ? kOut : kIn;
  const Sides& own = sides_[node.first_side + i];
  if (!own[way].rises) return own[way].rate;
  // All that it moves to or from has stopped to rise before it.
  const Sums& here = node.sums[opposite(way)];
  return node.part == MovingCall::between_nodes ? call.all[opposite(way)].levels - here.levels
                                                : here.levels - own[opposite(way)].level;
}

}  // namespace tuner
