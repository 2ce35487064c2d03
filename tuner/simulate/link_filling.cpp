#include "tuner/simulate/link_filling.h"

#include <algorithm>
#include <functional>

namespace tuner {
namespace {

/// Levels that differ by rounding alone are one.
constexpr double kSameLevel = 1e-9;

}  // namespace

double LinkFilling::Fill::level() const { return std::max(left, 0.0) / rising; }

void LinkFilling::clear(MovingCall::Part part) {
  part_ = part;
  calls_.clear();
  nodes_.clear();
  sides_.clear();
  pairs_.clear();
  pair_rates_.clear();
  links_.clear();
  members_.clear();
  crossings_.clear();
  for (const std::size_t used : shared_used_) shared_[used] = -1;
  shared_used_.clear();
  of_pairs_.clear();
  pair_calls_.clear();
  own_.clear();
  levels_.clear();
}

int LinkFilling::add_call(const MovingCall& call) {
  calls_.push_back({&call, {}});
  return static_cast<int>(calls_.size()) - 1;
}

int LinkFilling::add_node(int number, int n) {
  const MovingCall& call = *calls_[number].moving;
  const OpCost& cost = costs_[call.op];
  const double fitted = part_ == MovingCall::between_nodes ? cost.inter_node_bytes_per_s
                                                           : cost.intra_node_bytes_per_s;
  const Way driving = call.group->by_source ? kOut : kIn;
  Node& node = nodes_.emplace_back();
  node.call = number;
  node.node = n;
  node.first_side = static_cast<int>(sides_.size());
  node.members = static_cast<int>(call.nodes[n].members.size());
  node.copies = call.nodes[n].copies;
  for (const int member : call.nodes[n].members) {
    Sides& sides = sides_.emplace_back();
    const double capacity = fitted * speeds_.of(call.group->ranks[member], call.group->link);
    for (const Way way : kWays) {
      sides[way].capacity = capacity;
      sides[way].rises =
          way == driving ? call.flows[member][part_].under_way : call.other_side[member][part_];
      node.sums[way].rising += sides[way].rises ? 1 : 0;
    }
  }
  return static_cast<int>(nodes_.size()) - 1;
}

int LinkFilling::new_link(double capacity) {
  links_.emplace_back().capacity = capacity;
  return static_cast<int>(links_.size()) - 1;
}

int LinkFilling::shared_link(int number, Way way) {
  const auto place = static_cast<std::size_t>(2 * number + way);
  if (shared_.size() <= place) shared_.resize(place + 1, -1);
  if (shared_[place] < 0) {
    const Link& link =
        part_ == MovingCall::between_nodes ? cluster_.inter_node : cluster_.intra_node;
    shared_[place] = new_link(link.bandwidth_bytes_per_s);
    shared_used_.push_back(place);
  }
  return shared_[place];
}

int LinkFilling::place_of(int rank) const {
  return part_ == MovingCall::between_nodes ? moe::network_card(groups_, rank) : rank;
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
  const MovingCall& call = *calls_[node.call].moving;
  const MovingCall::Node& of_call = call.nodes[node.node];
  for (const Way way : kWays) {
    const bool through_one_card = part_ == MovingCall::between_nodes && groups_.card_of.empty();
    if (through_one_card && node.sums[way].rising > 0) {
      add_member(shared_link(of_call.node, way), {place, -1, way});
    }
    for (int i = 0; i < node.members; ++i) {
      const Side& side = sides_[node.first_side + i][way];
      if (!side.rises) continue;
      const Member member{place, node.first_side + i, way};
      add_member(new_link(side.capacity), member);
      if (!through_one_card) {
        add_member(shared_link(place_of(call.group->ranks[of_call.members[i]]), way), member);
      }
    }
  }
}

/// Of a member of a pair's call.
int LinkFilling::own_link(const Flow& flow, int rank, int member, Way way) {
  auto found = std::find_if(pair_calls_.rbegin(), pair_calls_.rend(), [&](const PairCall& known) {
    return known.op == flow.op && known.call == flow.call;
  });
  const OpCost& cost = costs_[flow.op];
  const GroupCall& group = cost.calls[flow.call];
  if (found == pair_calls_.rend()) {
    pair_calls_.push_back({flow.op, flow.call, static_cast<int>(own_.size())});
    own_.resize(own_.size() + 2 * group.ranks.size(), -1);
    found = pair_calls_.rbegin();
  }
  int& link = own_[found->first + 2 * member + way];
  if (link < 0) {
    link = new_link((part_ == MovingCall::between_nodes ? cost.inter_node_bytes_per_s
                                                        : cost.intra_node_bytes_per_s) *
                    speeds_.of(rank, group.link));
  }
  return link;
}

/// The link by which a pair leaves its sender.
int LinkFilling::pair_link(const Flow& flow) {
  if (part_ == MovingCall::between_nodes || !cluster_.mesh) {
    return shared_link(place_of(flow.from), kOut);
  }
  const auto [found, is_new] = of_pairs_.try_emplace({flow.from, flow.to}, 0);
  if (is_new) found->second = new_link(bytes_per_s_of_pair(cluster_));
  return found->second;
}

void LinkFilling::add_links_of_pair(int pair) {
  const Flow& flow = *pairs_[pair];
  const std::array<std::pair<int, double>, kCrossings> crossed{
      std::pair{pair_link(flow), flow.out}, std::pair{shared_link(place_of(flow.to), kIn), flow.in},
      std::pair{own_link(flow, flow.from, flow.from_member, kOut), flow.out},
      std::pair{own_link(flow, flow.to, flow.to_member, kIn), flow.in}};
  pair_rates_.push_back(-1);
  for (const auto& [link, count] : crossed) {
    const auto place = static_cast<int>(crossings_.size());
    crossings_.push_back({pair, link, count});
    SharedLink& shared = links_[link];
    (shared.last_crossing < 0 ? shared.first_crossing : crossings_[shared.last_crossing].next) =
        place;
    shared.last_crossing = place;
    shared.pairs_rising += count;
  }
}

/// The sides that the transfers of a side end at.
LinkFilling::Sums LinkFilling::others(const Node& node, int side, Way way) const {
  const Way far = opposite(way);
  const Sums& here = node.sums[far];
  if (part_ == MovingCall::between_nodes) {
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
      fill.left -= far.levels;
      fill.rising += far.rising;
    } else {
      fill.left -= one.rate;
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
  if (part_ != MovingCall::between_nodes) return;
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
    const int pair = crossings_[c].pair;
    if (pair_rates_[pair] >= 0) continue;
    pair_rates_[pair] = level;
    for (int i = 0; i < kCrossings; ++i) {
      const Crossing& crossed = crossings_[kCrossings * pair + i];
      links_[crossed.link].pairs_rising -= crossed.count;
      links_[crossed.link].pairs_rate += crossed.count * level;
    }
  }
}

/// The transfers of large calls rise no further: each has filled the link of its pair.
void LinkFilling::stop_all(double level) {
  for (Node& node : nodes_) {
    for (int i = 0; i < node.members; ++i) {
      for (const Way way : kWays) stop_side(node, node.first_side + i, way, level);
    }
  }
}

void LinkFilling::fill() {
  for (const Node& node : nodes_) {
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
  constexpr int kEveryPair = -1;
  if (part_ == MovingCall::within_node && cluster_.mesh) {
    levels_.emplace_back(bytes_per_s_of_pair(cluster_), kEveryPair);
  }
  const std::greater<> lowest_first;
  std::ranges::make_heap(levels_, lowest_first);
  while (!levels_.empty()) {
    std::ranges::pop_heap(levels_, lowest_first);
    const auto [level, link] = levels_.back();
    if (link == kEveryPair) {
      levels_.pop_back();
      stop_all(level);
      continue;
    }
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
  const Call& call = calls_[node.call];
  const Way way = call.moving->group->by_source ? kOut : kIn;
  const Sides& own = sides_[node.first_side + i];
  if (!own[way].rises) return own[way].rate;
  // All that it moves to or from has stopped to rise before it.
  const Sums& here = node.sums[opposite(way)];
  return part_ == MovingCall::between_nodes ? call.all[opposite(way)].levels - here.levels
                                            : here.levels - own[opposite(way)].level;
}

}  // namespace tuner
