#include "tuner/simulate/shared_links.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "moe/kernels/counter_random.h"

namespace tuner {
namespace {

bool moves(const MovingCall& call, int n, MovingCall::Part part) {
  return part == MovingCall::between_nodes ? call.between_under_way > 0
                                           : call.nodes[n].under_way[part] > 0;
}

std::uint64_t both(int first, int second) {
  return static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint32_t>(second);
}

std::uint64_t hash_of(std::span<const std::uint64_t> key) {
  std::uint64_t value = 0;
  for (const std::uint64_t more : key) value = moe::mix(value ^ more);
  return value;
}

}  // namespace

SharedLinks::SharedLinks(const std::vector<OpCost>& costs, const moe::Groups& groups,
                         const Cluster& cluster)
    : costs_(costs),
      groups_(groups),
      has_relays_(cluster.receivers_card),
      filling_(costs, groups, cluster, speeds_) {}

void SharedLinks::forget() {
  between_.clear();
  within_.clear();
}

void SharedLinks::share(std::list<MovingCall>& calls, std::span<Flow> pairs, const Speed& speed) {
  note_speeds(calls, pairs, speed);
  if (has_relays_) return share_all(calls, pairs);
  gather(calls, pairs, MovingCall::between_nodes);
  key_.clear();
  for (Node& node : nodes_) {
    node.key_first = key_.size();
    add_to_key(node, MovingCall::between_nodes);
    // Pairs take the cards of certain nodes, and blocks have certain nodes.
    if (crossed_[node.node] || !groups_.levels.empty()) key_.push_back(both(node.node, -1));
    node.key_last = key_.size();
  }
  for (const Flow* pair : pairs_) add_to_key(*pair);
  if (key_ != between_) {
    share_between_nodes();
    std::swap(key_, between_);
  }

  gather(calls, pairs, MovingCall::within_node);
  with_key_.clear();
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    const Node& node = nodes_[place];
    key_.clear();
    add_to_key(node, MovingCall::within_node);
    for (std::size_t i = node.first_pair; i < node.last_pair; ++i) add_to_key(*pairs_[i]);
    if (within_.size() <= static_cast<std::size_t>(node.node)) within_.resize(node.node + 1);
    Key& known = within_[node.node];
    if (key_ == known) continue;
    std::swap(key_, known);
    const bool alone = node.first_pair < node.last_pair;
    const std::size_t like =
        alone ? place : with_key_.try_emplace(hash_of(known), place).first->second;
    if (like != place && within_[nodes_[like].node] == known) {
      copy_within(nodes_[like], node);
    } else {
      share_within(node);
    }
  }
}

void SharedLinks::note_speeds(const std::list<MovingCall>& calls, std::span<const Flow> pairs,
                              const Speed& speed) {
  const auto note = [&](int rank, Occupation link) { speeds_.set(rank, link, speed(rank, link)); };
  for (const MovingCall& call : calls) {
    for (const int rank : call.group->ranks) note(rank, call.group->link);
  }
  for (const Flow& flow : pairs) {
    const Occupation link = costs_[flow.op].calls[flow.call].link;
    note(flow.from, link);
    note(flow.to, link);
  }
}

/// Finds what moves between nodes or within them, by node.
void SharedLinks::gather(std::list<MovingCall>& calls, std::span<Flow> pairs,
                         MovingCall::Part part) {
  const bool between = part == MovingCall::between_nodes;
  const auto node_of_part = [](const NodeOfCall& of) { return of.call->nodes[of.n].node; };
  const auto node_of_pair = [&](const Flow* pair) { return groups_.node_of[pair->from]; };
  calls_.clear();
  of_calls_.clear();
  for (MovingCall& call : calls) {
    const auto number = static_cast<int>(calls_.size());
    for (std::size_t n = 0; n < call.nodes.size(); ++n) {
      if (!moves(call, static_cast<int>(n), part)) continue;
      of_calls_.push_back({&call, number, static_cast<int>(n)});
    }
    if (!of_calls_.empty() && of_calls_.back().call == &call) calls_.push_back(&call);
  }
  if (!std::ranges::is_sorted(of_calls_, {}, node_of_part)) {
    std::ranges::stable_sort(of_calls_, {}, node_of_part);
  }
  pairs_.clear();
  crossed_.assign(crossed_.size(), false);
  for (Flow& pair : pairs) {
    if (pair.between_nodes != between) continue;
    pairs_.push_back(&pair);
    for (const int rank : {pair.from, pair.to}) {
      const auto node = static_cast<std::size_t>(groups_.node_of[rank]);
      if (crossed_.size() <= node) crossed_.resize(node + 1);
      crossed_[node] = true;
    }
  }
  if (!between) std::ranges::stable_sort(pairs_, {}, node_of_pair);

  nodes_.clear();
  std::size_t next = 0, pair = between ? pairs_.size() : 0;
  while (next < of_calls_.size() || pair < pairs_.size()) {
    Node& node = nodes_.emplace_back();
    node.node =
        next == of_calls_.size() ? node_of_pair(pairs_[pair]) : node_of_part(of_calls_[next]);
    if (pair < pairs_.size()) node.node = std::min(node.node, node_of_pair(pairs_[pair]));
    node.first = next;
    while (next < of_calls_.size() && node_of_part(of_calls_[next]) == node.node) ++next;
    node.last = next;
    node.first_pair = pair;
    while (pair < pairs_.size() && node_of_pair(pairs_[pair]) == node.node) ++pair;
    node.last_pair = pair;
    if (crossed_.size() <= static_cast<std::size_t>(node.node)) crossed_.resize(node.node + 1);
  }
}

void SharedLinks::add_to_key(const Node& node, MovingCall::Part part) {
  const auto members_of = [](const NodeOfCall& of) -> const std::vector<int>& {
    return of.call->nodes[of.n].members;
  };
  int first_rank = 0;
  for (std::size_t i = node.first; i < node.last; ++i) {
    const int rank = of_calls_[i].call->group->ranks[members_of(of_calls_[i]).front()];
    first_rank = i == node.first ? rank : std::min(first_rank, rank);
  }
  for (std::size_t i = node.first; i < node.last; ++i) {
    const MovingCall& call = *of_calls_[i].call;
    key_.push_back(both(call.op, call.call));
    key_.push_back(members_of(of_calls_[i]).size());
    for (const int member : members_of(of_calls_[i])) {
      const int rank = call.group->ranks[member];
      key_.push_back(both(rank - first_rank, (call.flows[member][part].under_way ? 1 : 0) +
                                                 (call.other_side[member][part] ? 2 : 0)));
      key_.push_back(std::bit_cast<std::uint64_t>(speeds_.of(rank, call.group->link)));
      if (groups_.card_of.empty()) continue;
      const auto of_first =
          moe::network_card(groups_, rank) - moe::network_card(groups_, first_rank);
      key_.push_back(static_cast<std::uint64_t>(of_first));
    }
  }
}

void SharedLinks::add_to_key(const Flow& flow) {
  const Occupation link = costs_[flow.op].calls[flow.call].link;
  key_.push_back(both(flow.op, flow.call));
  key_.push_back(both(flow.from_member, flow.to_member));
  if (!groups_.levels.empty()) key_.push_back(static_cast<std::uint64_t>(flow.levels));
  key_.push_back(std::bit_cast<std::uint64_t>(speeds_.of(flow.from, link)));
  key_.push_back(std::bit_cast<std::uint64_t>(speeds_.of(flow.to, link)));
}

/// Finds the nodes that stand for others on which all is alike.
void SharedLinks::find_alike() {
  const std::span<const std::uint64_t> key = key_;
  const auto key_of = [&](const Node& node) {
    return key.subspan(node.key_first, node.key_last - node.key_first);
  };
  with_key_.clear();
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    Node& node = nodes_[place];
    node.like = with_key_.try_emplace(hash_of(key_of(node)), place).first->second;
    if (!std::ranges::equal(key_of(node), key_of(nodes_[node.like]))) node.like = place;
  }
}

void SharedLinks::share_between_nodes() {
  find_alike();
  filling_.clear();
  places_.assign(of_calls_.size(), 0);
  for (const MovingCall* call : calls_) filling_.add_call(*call);
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    const Node& node = nodes_[place];
    for (std::size_t i = node.first; i < node.last; ++i) {
      const auto& [call, number, n] = of_calls_[i];
      if (node.like == place) {
        places_[i] = filling_.add_node(number, n, MovingCall::between_nodes);
      } else {
        places_[i] = places_[nodes_[node.like].first + (i - node.first)];
        filling_.add_copies(places_[i], call->nodes[n].copies);
      }
    }
  }
  add_pairs(0, pairs_.size());
  filling_.fill();
  set_pair_rates(0);
  for (std::size_t i = 0; i < of_calls_.size(); ++i) {
    set_rates(of_calls_[i], places_[i], MovingCall::between_nodes);
  }
}

void SharedLinks::share_within(const Node& node) {
  filling_.clear();
  for (std::size_t i = node.first; i < node.last; ++i) {
    filling_.add_node(filling_.add_call(*of_calls_[i].call), of_calls_[i].n,
                      MovingCall::within_node);
  }
  add_pairs(node.first_pair, node.last_pair);
  filling_.fill();
  for (std::size_t i = node.first; i < node.last; ++i) {
    set_rates(of_calls_[i], static_cast<int>(i - node.first), MovingCall::within_node);
  }
  set_pair_rates(node.first_pair);
}

/// Links between nodes and within them, at once: what goes to a relay crosses both.
void SharedLinks::share_all(std::list<MovingCall>& calls, std::span<Flow> pairs) {
  filling_.clear();
  std::vector<std::tuple<NodeOfCall, int, MovingCall::Part>> placed;
  for (MovingCall& call : calls) {
    const int number = filling_.add_call(call);
    for (std::size_t n = 0; n < call.nodes.size(); ++n) {
      for (const MovingCall::Part part : MovingCall::kParts) {
        const NodeOfCall of{&call, number, static_cast<int>(n)};
        if (!moves(call, of.n, part)) continue;
        placed.emplace_back(of, filling_.add_node(number, of.n, part), part);
      }
    }
  }
  pairs_.clear();
  for (Flow& pair : pairs) pairs_.push_back(&pair);
  add_pairs(0, pairs_.size());
  filling_.fill();
  for (const auto& [of, place, part] : placed) set_rates(of, place, part);
  set_pair_rates(0);
}

void SharedLinks::add_pairs(std::size_t first, std::size_t last) {
  pair_places_.clear();
  for (std::size_t i = first; i < last; ++i) {
    pair_places_.push_back(filling_.add_pair(*pairs_[i]));
  }
}

/// Of those that were added.
void SharedLinks::set_pair_rates(std::size_t first) {
  for (std::size_t i = 0; i < pair_places_.size(); ++i) {
    pairs_[first + i]->rate = filling_.pair_rate(pair_places_[i]);
  }
}

/// Takes the rates that were found for a node of the call.
void SharedLinks::set_rates(const NodeOfCall& of, int place, MovingCall::Part part) const {
  const std::vector<int>& members = of.call->nodes[of.n].members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    MovingCall::RankFlow& flow = of.call->flows[members[i]][part];
    if (flow.under_way) flow.rate = filling_.rate(place, static_cast<int>(i));
  }
}

/// `to` is like `from` in everything.
void SharedLinks::copy_within(const Node& from, const Node& to) {
  for (std::size_t i = 0; i < from.last - from.first; ++i) {
    const NodeOfCall& source = of_calls_[from.first + i];
    const NodeOfCall& target = of_calls_[to.first + i];
    const std::vector<int>& members = source.call->nodes[source.n].members;
    for (std::size_t j = 0; j < members.size(); ++j) {
      const int member = target.call->nodes[target.n].members[j];
      target.call->flows[member][MovingCall::within_node].rate =
          source.call->flows[members[j]][MovingCall::within_node].rate;
    }
  }
}

}  // namespace tuner
