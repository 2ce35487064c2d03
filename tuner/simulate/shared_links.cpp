#include "tuner/simulate/shared_links.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "moe/kernels/counter_random.h"

namespace tuner {
namespace {

/// Levels that differ by rounding alone are one.
constexpr double kSameLevel = 1e-9;

enum Way { kOut, kIn };
constexpr std::array kWays{kOut, kIn};
constexpr Way opposite(Way way) { return way == kOut ? kIn : kOut; }

/// The side of a call's transfers that leaves a rank, or enters it.
struct Side {
  double capacity = 0;  ///< of this rank in this call
  bool rises = false;
  double level = 0;  ///< at which it stopped to rise
  double rate = 0;   ///< of all its transfers together
};
using Sides = std::array<std::array<Side, 2>, 2>;  ///< [part][way]

/// Of the sides of one part and way that are on one node, or in a whole call.
struct Sums {
  double rising = 0;  ///< their number
  double levels = 0;  ///< the sum of the levels of those that rise no more
};

/// A call as it meets the nodes that stand for others.
struct Filled {
  MovingCall* call = nullptr;
  bool by_source = false;
  struct Node {
    std::vector<Sides> members;
    double copies = 1;
    std::array<std::array<Sums, 2>, 2> sums{};  ///< [part][way]
    std::array<double, 2> rates{};              ///< [way]: between nodes, that rise no more
  };
  std::vector<Node> nodes;      ///< those that stand for others
  std::vector<int> stands_for;  ///< [node of the call]: the place in `nodes`
  std::array<Sums, 2> all;      ///< [way]: between nodes
};

/// What shares a capacity.
struct SharedLink {
  double capacity = 0;
  struct Member {
    int call, node, member;  ///< of `filled`; member -1: all sides of the node
    MovingCall::Part part;
    Way way;
  };
  /// Most links have one member, which has no memory of its own.
  std::optional<Member> first;
  std::vector<Member> further;
  std::vector<std::pair<int, double>> pairs;  ///< flow, and how many such flows cross the link
  double pairs_rising = 0, pairs_rate = 0;

  void add(const Member& member) {
    if (first) {
      further.push_back(member);
    } else {
      first = member;
    }
  }
  template <class Visit>
  void each_member(const Visit& visit) const {
    if (first) visit(*first);
    for (const Member& member : further) visit(member);
  }
};

struct Fill {
  double left = 0, rising = 0;
  double level() const { return std::max(left, 0.0) / rising; }
};

class Filling {
 public:
  Filling(std::list<MovingCall>& calls, std::span<Flow> pairs, const std::vector<OpCost>& costs,
          const moe::Groups& groups, const Cluster& cluster,
          const std::function<double(int rank, Occupation link)>& speed)
      : pairs_(pairs), costs_(costs), groups_(groups), cluster_(cluster), speed_(speed) {
    for (const Flow& flow : pairs_) {
      crossed_by_pairs_.emplace(groups.node_of[flow.from]);
      crossed_by_pairs_.emplace(groups.node_of[flow.to]);
    }
    stand_for_alike(calls);
    std::size_t sides = 0;
    for (const Filled& one : filled_) {
      for (const Filled::Node& node : one.nodes) sides += 4 * node.members.size();
    }
    links_.reserve(2 * sides);
    for (std::size_t c = 0; c < filled_.size(); ++c) add_links(static_cast<int>(c));
    for (std::size_t i = 0; i < pairs_.size(); ++i) add_pair(static_cast<int>(i));
  }

  void fill() {
    using Entry = std::pair<double, int>;
    std::vector<Entry> levels;
    for (std::size_t link = 0; link < links_.size(); ++link) {
      const Fill now = filled(links_[link]);
      if (now.rising > 0) levels.emplace_back(now.level(), static_cast<int>(link));
    }
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> fullest({}, std::move(levels));
    while (!fullest.empty()) {
      const auto [level, link] = fullest.top();
      fullest.pop();
      const Fill now = filled(links_[link]);
      if (now.rising <= 0) continue;
      // Levels only grow while others stop, so an entry that is out of date is put back.
      if (now.level() > level * (1 + kSameLevel)) {
        fullest.emplace(now.level(), link);
        continue;
      }
      stop(links_[link], level);
    }
    write_rates();
  }

 private:
  Side& side(const SharedLink::Member& m, int member) {
    return filled_[m.call].nodes[m.node].members[member][m.part][m.way];
  }

  /// The sides that the transfers of a side end at.
  Sums others(const SharedLink::Member& m, int member) const {
    const Filled& call = filled_[m.call];
    const Filled::Node& node = call.nodes[m.node];
    const Way far = opposite(m.way);
    const Sums& here = node.sums[m.part][far];
    if (m.part == MovingCall::between_nodes) {
      return {call.all[far].rising - here.rising, call.all[far].levels - here.levels};
    }
    if (member < 0) return here;
    const Side& own = node.members[member][m.part][far];  // nothing goes to oneself
    return {here.rising - (own.rises ? 1 : 0), here.levels - own.level};
  }

  Fill filled(const SharedLink& link) const {
    Fill fill{link.capacity - link.pairs_rate, link.pairs_rising};
    link.each_member([&](const SharedLink::Member& m) {
      const Filled::Node& node = filled_[m.call].nodes[m.node];
      const Sums far = others(m, m.member);
      if (m.member < 0) {
        const double rising = node.sums[m.part][m.way].rising;
        fill.left -= node.rates[m.way] + rising * far.levels;
        fill.rising += rising * far.rising;
      } else if (const Side& one = node.members[m.member][m.part][m.way]; one.rises) {
        fill.left -= far.levels;
        fill.rising += far.rising;
      } else {
        fill.left -= one.rate;
      }
    });
    // Counts are whole or shares of few: what is far below is rounding.
    if (fill.rising < 1e-6) fill.rising = 0;
    return fill;
  }

  void stop_side(const SharedLink::Member& m, int member, double level) {
    Side& one = side(m, member);
    if (!one.rises) return;
    const Sums far = others(m, member);
    one.rises = false;
    one.level = level;
    one.rate = far.levels + level * far.rising;
    Filled& call = filled_[m.call];
    Filled::Node& node = call.nodes[m.node];
    Sums& here = node.sums[m.part][m.way];
    here.rising -= 1;
    here.levels += level;
    if (m.part != MovingCall::between_nodes) return;
    node.rates[m.way] += one.rate;
    call.all[m.way].rising -= node.copies;
    call.all[m.way].levels += node.copies * level;
  }

  void stop(SharedLink& link, double level) {
    link.each_member([&](const SharedLink::Member& m) {
      if (m.member >= 0) return stop_side(m, m.member, level);
      const std::size_t members = filled_[m.call].nodes[m.node].members.size();
      for (std::size_t i = 0; i < members; ++i) stop_side(m, static_cast<int>(i), level);
    });
    for (const auto& [flow, share] : link.pairs) {
      if (pair_rates_[flow] >= 0) continue;
      pair_rates_[flow] = level;
      for (const auto& [crossed, count] : links_of_pair_[flow]) {
        links_[crossed].pairs_rising -= count;
        links_[crossed].pairs_rate += count * level;
      }
    }
  }

  /// What decides the rates on a node of all calls: the sides of its ranks.
  std::uint64_t signature(const std::vector<std::pair<int, int>>& parts) const {
    std::uint64_t value = 0;
    const auto add = [&](std::uint64_t more) { value = moe::mix(value ^ moe::mix(more + 1)); };
    for (const auto& [c, n] : parts) {
      const MovingCall& call = *filled_[c].call;
      add(static_cast<std::uint64_t>(c));
      for (const int member : call.nodes[n].members) {
        const int rank = call.group->ranks[member];
        add(static_cast<std::uint64_t>(rank - first_rank_.at(call.nodes[n].node)));
        for (const MovingCall::Part part : MovingCall::kParts) {
          add((call.flows[member][part].under_way ? 1u : 0u) +
              (call.other_side[member][part] ? 2u : 0u));
        }
        add(static_cast<std::uint64_t>(speed_(rank, call.group->link) * (1ull << 52)));
      }
    }
    return value;
  }

  /// Finds the nodes that stand for others on which all is alike.
  void stand_for_alike(std::list<MovingCall>& calls) {
    std::map<int, std::vector<std::pair<int, int>>> nodes;  // call and node of the call, by node
    for (MovingCall& call : calls) {
      Filled& one = filled_.emplace_back();
      one.call = &call;
      one.by_source = call.group->by_source;
      one.stands_for.resize(call.nodes.size());
      for (std::size_t n = 0; n < call.nodes.size(); ++n) {
        const MovingCall::Node& node = call.nodes[n];
        nodes[node.node].emplace_back(static_cast<int>(filled_.size()) - 1, static_cast<int>(n));
        const int first = call.group->ranks[node.members.front()];
        const auto [found, is_new] = first_rank_.try_emplace(node.node, first);
        if (!is_new) found->second = std::min(found->second, first);
      }
    }
    std::unordered_map<std::uint64_t, int> node_with;  // by signature
    for (const auto& [node, parts] : nodes) {
      const bool crossed = crossed_by_pairs_.contains(node);
      const int like = crossed ? node : node_with.try_emplace(signature(parts), node).first->second;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto [c, n] = parts[i];
        Filled& one = filled_[c];
        const MovingCall::Node& of_call = one.call->nodes[n];
        if (like != node) {
          const int stands = one.stands_for[nodes.at(like)[i].second];
          one.stands_for[n] = stands;
          one.nodes[stands].copies += of_call.copies;
        } else {
          one.stands_for[n] = static_cast<int>(one.nodes.size());
          add_node(one, n);
        }
      }
    }
    for (Filled& one : filled_) {
      for (const Filled::Node& node : one.nodes) {
        for (const Way way : kWays) {
          one.all[way].rising += node.copies * node.sums[MovingCall::between_nodes][way].rising;
        }
      }
    }
  }

  void add_node(Filled& one, int n) {
    const MovingCall& call = *one.call;
    const OpCost& cost = costs_[call.op];
    Filled::Node& node = one.nodes.emplace_back();
    node.members.reserve(call.nodes[n].members.size());
    node.copies = call.nodes[n].copies;
    const Way driving = one.by_source ? kOut : kIn;
    for (const int member : call.nodes[n].members) {
      Sides& sides = node.members.emplace_back();
      const double factor = speed_(call.group->ranks[member], call.group->link);
      for (const MovingCall::Part part : MovingCall::kParts) {
        const double fitted = part == MovingCall::between_nodes ? cost.inter_node_bytes_per_s
                                                                : cost.intra_node_bytes_per_s;
        for (const Way way : kWays) {
          Side& side = sides[part][way];
          side.capacity = fitted * factor;
          side.rises =
              way == driving ? call.flows[member][part].under_way : call.other_side[member][part];
          node.sums[part][way].rising += side.rises ? 1 : 0;
        }
      }
    }
  }

  int link_of_card(int node, Way way) {
    return shared_link(cards_, {node, way}, cluster_.inter_node.bandwidth_bytes_per_s);
  }
  int link_of_rank(int rank, Way way) {
    return shared_link(rank_links_, {rank, way}, cluster_.intra_node.bandwidth_bytes_per_s);
  }
  /// `known`: [2 number + way]: the link; -1 where there is none yet.
  int shared_link(std::vector<int>& known, std::pair<int, Way> key, double capacity) {
    const auto place = static_cast<std::size_t>(2 * key.first + key.second);
    if (known.size() <= place) known.resize(place + 1, -1);
    if (known[place] < 0) {
      known[place] = static_cast<int>(links_.size());
      links_.emplace_back().capacity = capacity;
    }
    return known[place];
  }

  void add_links(int c) {
    const MovingCall& call = *filled_[c].call;
    std::vector<bool> added(filled_[c].nodes.size());
    for (std::size_t n = 0; n < call.nodes.size(); ++n) {
      const int place = filled_[c].stands_for[n];
      if (added[place]) continue;
      added[place] = true;
      const Filled::Node& node = filled_[c].nodes[place];
      for (const Way way : kWays) {
        if (node.sums[MovingCall::between_nodes][way].rising > 0) {
          const int card = link_of_card(call.nodes[n].node, way);
          links_[card].add({c, place, -1, MovingCall::between_nodes, way});
        }
        for (std::size_t i = 0; i < node.members.size(); ++i) {
          const int rank = call.group->ranks[call.nodes[n].members[i]];
          for (const MovingCall::Part part : MovingCall::kParts) {
            const Side& one = node.members[i][part][way];
            if (!one.rises) continue;
            const SharedLink::Member member{c, place, static_cast<int>(i), part, way};
            SharedLink& own = links_.emplace_back();
            own.capacity = one.capacity;
            own.add(member);
            if (part == MovingCall::within_node) links_[link_of_rank(rank, way)].add(member);
          }
        }
      }
    }
  }

  void add_pair(int i) {
    const Flow& flow = pairs_[i];
    pair_rates_.push_back(-1);
    auto& crossed = links_of_pair_.emplace_back();
    const OpCost& cost = costs_[flow.op];
    const Occupation link = cost.calls[flow.call].link;
    const auto own_link = [&](int rank, int member, Way way) {
      const auto [found, is_new] =
          own_links_.try_emplace(std::tuple(flow.op, flow.call, member, flow.between_nodes, way),
                                 static_cast<int>(links_.size()));
      if (is_new) {
        links_.emplace_back().capacity =
            (flow.between_nodes ? cost.inter_node_bytes_per_s : cost.intra_node_bytes_per_s) *
            speed_(rank, link);
      }
      return found->second;
    };
    if (flow.between_nodes) {
      crossed.emplace_back(link_of_card(groups_.node_of[flow.from], kOut), flow.out);
      crossed.emplace_back(link_of_card(groups_.node_of[flow.to], kIn), flow.in);
    } else {
      crossed.emplace_back(link_of_rank(flow.from, kOut), flow.out);
      crossed.emplace_back(link_of_rank(flow.to, kIn), flow.in);
    }
    crossed.emplace_back(own_link(flow.from, flow.from_member, kOut), flow.out);
    crossed.emplace_back(own_link(flow.to, flow.to_member, kIn), flow.in);
    for (const auto& [to, count] : crossed) {
      links_[to].pairs.emplace_back(i, count);
      links_[to].pairs_rising += count;
    }
  }

  void write_rates() {
    for (std::size_t i = 0; i < pairs_.size(); ++i) pairs_[i].rate = pair_rates_[i];
    for (Filled& one : filled_) {
      const Way way = one.by_source ? kOut : kIn;
      for (std::size_t n = 0; n < one.call->nodes.size(); ++n) {
        const Filled::Node& node = one.nodes[one.stands_for[n]];
        const std::vector<int>& members = one.call->nodes[n].members;
        for (std::size_t i = 0; i < members.size(); ++i) {
          for (const MovingCall::Part part : MovingCall::kParts) {
            MovingCall::RankFlow& flow = one.call->flows[members[i]][part];
            if (!flow.under_way) continue;
            const Side& own = node.members[i][part][way];
            const Sums& here = node.sums[part][opposite(way)];
            // All that it moves to or from has stopped to rise before it.
            flow.rate = !own.rises ? own.rate
                        : part == MovingCall::between_nodes
                            ? one.all[opposite(way)].levels - here.levels
                            : here.levels - node.members[i][part][opposite(way)].level;
          }
        }
      }
    }
  }

  std::span<Flow> pairs_;
  const std::vector<OpCost>& costs_;
  const moe::Groups& groups_;
  const Cluster& cluster_;
  const std::function<double(int rank, Occupation link)>& speed_;
  std::set<int> crossed_by_pairs_;  ///< nodes
  std::map<int, int> first_rank_;   ///< by node
  std::vector<Filled> filled_;
  std::vector<SharedLink> links_;
  std::vector<int> cards_, rank_links_;  ///< as of shared_link()
  std::map<std::tuple<int, int, int, bool, Way>, int> own_links_;
  std::vector<double> pair_rates_;
  std::vector<std::vector<std::pair<int, double>>> links_of_pair_;
};

}  // namespace

void share_links(std::list<MovingCall>& calls, std::span<Flow> pairs,
                 const std::vector<OpCost>& costs, const moe::Groups& groups,
                 const Cluster& cluster,
                 const std::function<double(int rank, Occupation link)>& speed) {
  Filling(calls, pairs, costs, groups, cluster, speed).fill();
}

}  // namespace tuner
