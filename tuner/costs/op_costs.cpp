#include "tuner/costs/op_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "moe/errors.h"
#include "moe/ops/collective.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "tuner/costs/call_buffers.h"
#include "tuner/costs/call_bytes.h"
#include "tuner/costs/call_groups.h"
#include "tuner/costs/call_loads.h"
#include "tuner/costs/card_shares.h"
#include "tuner/costs/rule_time.h"

namespace tuner {
namespace {

Crossed crossed_by_call(const GroupCall& call) {
  Crossed crossed;
  for (const Transfer& transfer : call.transfers) {
    (transfer.between_nodes ? crossed.between_nodes : crossed.within_node) = true;
    crossed.levels = std::max(crossed.levels, transfer.levels);
  }
  for (const RankBytes& bytes : call.bytes) {
    crossed.between_nodes |= bytes.out_between > 0;
    crossed.within_node |= bytes.out_within > 0;
    for (int level = crossed.levels; level < moe::kMostLevels; ++level) {
      if (bytes.out_of_block[level] > 0) crossed.levels = level + 1;
    }
  }
  return crossed;
}

/// The rings of an op that moves experts, and the bytes of an expert that pass them together.
struct Rings {
  std::vector<moe::ExpertMove> moves;  ///< empty without rings
  std::int64_t fragment_bytes = 0;
};
/// `rank`: one of the group. Replicas that are chosen after the gate differ from group to group.
Rings rings_of(const CallSituation& situation, int rank) {
  const moe::Program& program = situation.program;
  const moe::Op& op = situation.op;
  const moe::Groups& groups = situation.groups;
  Rings rings;
  std::visit(
      [&](const auto& kind) {
        if constexpr (moe::MovesExperts<std::decay_t<decltype(kind)>>) {
          if (!kind.on_rings()) return;
          const int members = groups.layout.expert;
          const moe::ExpertSlots slots =
              moe::is_late(kind.placement) ? situation.layer->shares->of(groups, rank).placed.slots
                                           : kind.slots(members, {}, {});
          rings.moves = kind.moves(slots);
          for (std::size_t i = 0; i < op.writes.size(); ++i) {
            const moe::Tensor& tensor = program.tensors[op.reads[i].tensor];
            const auto block = moe::elements_of(kind.block_rows(tensor.rows, slots), tensor.columns,
                                                0, kind.share);
            rings.fragment_bytes +=
                moe::chain_fragment_bytes(block.count * moe::bytes_of(tensor.dtype));
          }
        }
      },
      op.kind);
  return rings;
}

/// The time in which the longest ring fills among these ranks.
double fill_s(const Rings& rings, const std::vector<int>& ranks, const moe::Groups& groups,
              const LinkCost& across, const LinkCost& within) {
  double longest_s = 0;
  RingHops hops;
  for (const moe::ExpertMove& move : rings.moves) {
    if (move.hop == 0) hops = {};
    const bool same = groups.node_of[ranks[move.from]] == groups.node_of[ranks[move.to]];
    ++(same ? hops.within : hops.across);
    longest_s = std::max(longest_s, ring_fill_s(hops, across.pass_s, within.pass_s));
  }
  return longest_s;
}

/// What a collective op costs on both links.
struct BothLinks {
  const LinearFit* inter = nullptr;  ///< null: the link alone
  const LinearFit* intra = nullptr;
  LinkCost across, within;
};

/// A fit by points is read at the size of the rank that sends or receives most. `shares`: of a call
/// whose fit is of even shares of the cards; else null.
BothLinks both_links(const moe::Op& op, const std::vector<GroupCall>& calls,
                     const CardShares* shares, const Rings& rings, const CostModel& costs,
                     const Cluster& cluster) {
  const auto fit_on = [&](Occupation link) -> const LinearFit* {
    const CollectiveFit* found = collective_fit(costs, op, name_of(link));
    return found == nullptr ? nullptr : &found->second;
  };
  BothLinks links{fit_on(Occupation::inter_node), fit_on(Occupation::intra_node), {}, {}};
  const auto has_points = [](const LinearFit* fit) {
    return fit != nullptr && !fit->points.empty();
  };
  BusiestBytes most;
  if (has_points(links.inter) || has_points(links.intra)) {
    for (const GroupCall& call : calls) {
      const BusiestBytes one = busiest_bytes(call);
      most = {std::max(most.between, one.between), std::max(most.within, one.within)};
    }
    if (shares != nullptr) most.between = shares->even;
  }
  const std::int64_t fragment = rings.fragment_bytes;
  links.across =
      link_cost(costs, op, Occupation::inter_node, cluster.inter_node, {most.between, fragment});
  links.within =
      link_cost(costs, op, Occupation::intra_node, cluster.intra_node, {most.within, fragment});
  if (shares != nullptr && links.inter != nullptr) links.across.bytes_per_s *= shares->most();
  return links;
}

/// Throws moe::Refusal where a call crosses a link that the cluster does not have.
void check_links(const moe::Op& op, const Crossed& crossed, const BothLinks& links,
                 const Cluster& cluster) {
  const bool no_inter = crossed.between_nodes && !(links.across.bytes_per_s > 0);
  if (!no_inter && (!crossed.within_node || links.within.bytes_per_s > 0)) return;
  const std::string_view name = op.name.empty() ? moe::kind_name(op) : op.name;
  const std::string_view link = no_inter ? "inter_node link" : "intra_node link";
  throw moe::Refusal(fmt::format("cluster {}", cluster.name),
                     fmt::format("{} runs between ranks {}, but no {} is given", name,
                                 no_inter ? "of several nodes" : "of one node", link),
                     fmt::format("expected the {} in the cluster's file", link),
                     {std::string(name), op.layer});
}

/// Gives the call of a group the link that it occupies, and its startup there.
void start_on_link(const CallGroup& group, const moe::Groups& groups, const Crossed& crossed,
                   const BothLinks& links, const Rings& rings, const Cluster& cluster,
                   GroupCall& call) {
  // A group of one waits for nobody: it costs only what was measured for it, inside a node.
  const bool alone = group.members.size() == 1, inside = group.inside;
  const auto startup_s = [&](const LinkCost& link) {
    return link.startup_s + fill_s(rings, group.members, groups, links.across, links.within);
  };
  if (crossed.between_nodes || (!crossed.within_node && !links.intra && links.inter && !inside)) {
    call.link = Occupation::inter_node;
    call.alpha_s = startup_s(links.across);
    for (int level = 0; level < crossed.levels; ++level) {
      call.alpha_s += cluster.levels[level].uplink.latency_s;
    }
  } else if (crossed.within_node || links.intra || (inside && !alone)) {
    call.alpha_s = startup_s(links.within);
  }
}

OpCost communication_cost(const CallSituation& situation, KnownCalls& known, const CostModel& costs,
                          const Cluster& cluster, const Folding& folding) {
  const moe::Op& op = situation.op;
  OpCost cost;
  cost.activity = moe::Activity::communication;
  const Calls& calls = known.of(op);
  cost.call_of = calls.of;
  for (const CallGroup& group : calls.groups) {
    GroupCall& call = cost.calls.emplace_back();
    call.ranks = group.ranks;
    call.copies = group.copies;
    count_bytes(situation, group.members, folding, call);
  }
  const moe::Groups& groups = situation.groups;
  Rings rings = rings_of(situation, calls.groups.front().members.front());
  std::optional<CardShares> shares;
  if (moe::exchanges_rows(op)) shares = card_shares(cost.calls, situation.classes.groups);
  const BothLinks links =
      both_links(op, cost.calls, shares ? &*shares : nullptr, rings, costs, cluster);
  cost.inter_node_bytes_per_s = links.across.bytes_per_s;
  cost.intra_node_bytes_per_s = links.within.bytes_per_s;
  if (sends_messages_apart(op)) cost.buffers = costs.buffers;
  for (std::size_t i = 0; i < cost.calls.size(); ++i) {
    const Crossed crossed = crossed_by_call(cost.calls[i]);
    check_links(op, crossed, links, cluster);
    if (moe::depends_on_counts(op)) rings = rings_of(situation, calls.groups[i].members.front());
    start_on_link(calls.groups[i], groups, crossed, links, rings, cluster, cost.calls[i]);
  }
  return cost;
}

/// True for ops whose sizes depend on the routing of a layer.
bool follows_counts(const moe::Program& program, const moe::Op& op) {
  return moe::uses_routed_rows(program, op) || moe::depends_on_counts(op);
}

/// True for ops of which the time differs by rank.
bool differs_by_rank(const moe::Program& program, const moe::Op& op) {
  return follows_counts(program, op) || std::holds_alternative<moe::AddReturned>(op.kind);
}

/// The binding of one layer, for another layer with the same rows.
void rename_layer(moe::Binding& binding, const moe::RoutedLayer& to) {
  auto layout = binding.layouts.extract(binding.layouts.begin());
  layout.key() = to;
  binding.layouts.insert(std::move(layout));
}

const moe::Binding kNoRows;

/// The sizes of the rows of one layer after another, on one rank of those that are alike there.
/// What was worked out is kept for the next layer where that has the same rows.
class LayerSizes {
 public:
  LayerSizes(const moe::Groups& groups, const RankClasses& classes)
      : groups_(groups), classes_(classes) {}

  /// `layer`: null for ops on fixed rows. It must outlive the next one.
  void turn_to(const moe::RoutedRows* layer) {
    if (layer != nullptr && layer_ != nullptr && have_same_rows(*layer, *layer_)) {
      for (auto& [one, binding] : bindings_) rename_layer(binding, layer->at);
      for (auto& [rank, binding] : known_.bindings) rename_layer(binding, layer->at);
    } else {
      bindings_.clear();
      known_ = {};
      in_layer_ = layer ? classes_in_layer(*layer, groups_) : std::vector<int>();
    }
    layer_ = layer;
  }
  KnownOfLayer& known() { return known_; }

  /// The layer's classes where ranks send the same row, and not every rank its own; else null.
  const std::vector<int>* in_layer() const {
    return layer_ != nullptr && layer_->counts->alike > 1 && plain() ? &in_layer_ : nullptr;
  }

  /// OpCost::seconds
  std::vector<double> seconds_of(const moe::Program& program, const moe::Op& op,
                                 const CostModel& costs) {
    const bool differs = differs_by_rank(program, op);
    std::vector<double> result(differs ? classes_.rank_of.size() : 1, 0);
    std::unordered_map<int, double> known;  // by class in the layer
    for (std::size_t one = 0; one < classes_.rank_of.size(); ++one) {
      const int rank = classes_.rank_of[one];
      if (!moe::runs_in(op, moe::stage_of(groups_, rank))) continue;
      if (!differs) return {seconds(costs, program, op, {}, groups_, rank)};
      const bool routed = layer_ != nullptr;
      const auto [found, is_new] = known.try_emplace(routed ? class_of(rank) : rank, 0);
      if (is_new) {
        const moe::Binding& binding = routed ? binding_of(rank) : kNoRows;
        found->second = seconds(costs, program, op, binding, groups_, rank);
      }
      result[one] = found->second;
    }
    return result;
  }

 private:
  bool plain() const {
    return !moe::has_replicas(layer_->handling->placement) && layer_->handling->relays.empty() &&
           layer_->handling->ranks_per_group == 0;
  }
  int class_of(int rank) const { return in_layer_[moe::rank_in_stage(groups_, rank)]; }
  const moe::Binding& binding_of(int rank) {
    const auto [found, is_new] = bindings_.try_emplace(class_of(rank));
    if (is_new) {
      found->second.layouts.emplace(layer_->at, moe::make_row_layout(*layer_, groups_, rank));
    }
    return found->second;
  }

  const moe::Groups& groups_;
  const RankClasses& classes_;
  const moe::RoutedRows* layer_ = nullptr;
  std::vector<int> in_layer_;  ///< its classes_in_layer()
  std::unordered_map<int, moe::Binding> bindings_;
  KnownOfLayer known_;
};

}  // namespace

BusiestBytes busiest_bytes(const GroupCall& call) {
  BusiestBytes most;
  for (const RankBytes& bytes : member_bytes(call)) {
    most.between = std::max({most.between, bytes.out_between, bytes.in_between});
    most.within = std::max({most.within, bytes.out_within, bytes.in_within});
  }
  return most;
}

LinkCost link_cost(const CostModel& costs, const moe::Op& op, Occupation occupation,
                   const Link& link, const SentBytes& sent) {
  const CollectiveFit* fit = collective_fit(costs, op, name_of(occupation));
  LinkCost cost{link.latency_s, 0, link.bandwidth_bytes_per_s};
  if (fit != nullptr) {
    const StraightPiece piece = piece_at(fit->second, sent.busiest);
    cost.startup_s = piece.startup_s;
    const double link_s = link.bandwidth_bytes_per_s > 0 ? 1 / link.bandwidth_bytes_per_s : 0;
    if (!fit->second.points.empty() && piece.s_per_unit < link_s) {
      // Small sizes take about as long: the bytes need the link's time of what the points tell.
      const double told_s = piece.startup_s + piece.s_per_unit * sent.busiest;
      cost.startup_s = std::max(0.0, told_s - link_s * sent.busiest);
    } else if (piece.s_per_unit > 0) {
      cost.bytes_per_s = 1 / piece.s_per_unit;
    }
  }
  const bool fills = fit == nullptr || !is_of_chains(*fit);
  if (fills && sent.fragment > 0 && cost.bytes_per_s > 0) {
    cost.pass_s = static_cast<double>(sent.fragment) / cost.bytes_per_s;
  }
  return cost;
}

double ring_fill_s(const RingHops& hops, double across_s, double within_s) {
  const double slowest_s = std::max(hops.across > 0 ? across_s : 0, hops.within > 0 ? within_s : 0);
  return hops.across * across_s + hops.within * within_s - slowest_s;
}

Crossed crossed_by(const OpCost& cost) {
  Crossed crossed;
  for (const GroupCall& call : cost.calls) {
    const Crossed one = crossed_by_call(call);
    crossed.between_nodes |= one.between_nodes;
    crossed.within_node |= one.within_node;
    crossed.levels = std::max(crossed.levels, one.levels);
  }
  return crossed;
}

Occupation occupation_of(const OpCost& cost) {
  return cost.activity == moe::Activity::copy ? Occupation::copy : Occupation::computation;
}

ProgramCosts program_costs(const moe::Program& program, const moe::Groups& groups,
                           const moe::Routing& routing, const CostModel& costs,
                           const Cluster& cluster, const Folding& folding) {
  const moe::AllRoutedRows routed(program, routing);
  const bool folds_even = groups.ranks > folding.most_even && groups.ranks <= folding.most_single &&
                          loads_are_even(routed.layers(), groups);
  const int most_single = folds_even ? folding.most_even : folding.most_single;
  ProgramCosts result{rank_classes(program, groups, routed.layers(), cluster, most_single), {}};
  result.ops.resize(program.ops.size());
  const RankClasses& classes = result.classes;
  std::map<moe::RoutedLayer, std::vector<std::size_t>> ops_of;  // by the layer whose rows they use
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    const bool routed_rows = follows_counts(program, op);
    ops_of[routed_rows ? moe::routed_layer(op) : moe::RoutedLayer{}].push_back(i);
  }
  LayerSizes sizes(groups, classes);
  KnownCalls known(groups, classes);
  const bool is_nccl = cluster.device == "cuda";
  const auto cost_ops = [&](const std::vector<std::size_t>& ops, const moe::RoutedRows* layer) {
    sizes.turn_to(layer);
    for (const std::size_t i : ops) {
      const moe::Op& op = program.ops[i];
      if (moe::is_communication(op)) {
        result.ops[i] = communication_cost({program, op, groups, classes, layer, sizes.in_layer(),
                                            sizes.known(), is_nccl, is_nccl && cluster.mesh},
                                           known, costs, cluster, folding);
      } else {
        result.ops[i].activity = moe::facts_of(op).activity;
        result.ops[i].seconds = sizes.seconds_of(program, op, costs);
      }
    }
  };
  std::map<moe::RoutedLayer, const moe::RoutedRows*> rows_at;
  for (const moe::RoutedRows& layer : routed.layers()) rows_at.try_emplace(layer.at, &layer);
  for (const auto& [at, ops] : ops_of) {
    const auto layer = rows_at.find(at);
    cost_ops(ops, layer == rows_at.end() ? nullptr : layer->second);
  }
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (!moe::binds_routing(program.ops[i])) continue;
    const moe::RoutedRows& layer = *rows_at.at(moe::routed_layer(program.ops[i]));
    const double rule_s = rule_seconds(costs, rule_of(layer.handling->placement),
                                       counted_bytes(layer.counts->experts, groups));
    for (GroupCall& call : result.ops[i].calls) call.alpha_s += rule_s;
  }
  return result;
}

std::vector<moe::Binding> bind_all(const moe::Program& program, const moe::Groups& groups,
                                   const moe::Routing& routing) {
  const moe::AllRoutedRows routed(program, routing);
  std::vector<moe::Binding> bindings;
  for (int rank = 0; rank < groups.ranks; ++rank) bindings.push_back(routed.bind(groups, rank));
  return bindings;
}

double seconds_of_bytes(const RankBytes& bytes, const OpCost& cost, const GroupCall& call,
                        const Cluster& cluster) {
  const auto time = [](double amount, double fitted, double link) {
    return amount > 0 ? amount / std::min(fitted, link) : 0;
  };
  const double link = cluster.intra_node.bandwidth_bytes_per_s;
  return call.alpha_s +
         std::max(
             {time(std::max(bytes.out_between, bytes.in_between), cost.inter_node_bytes_per_s,
                   cluster.inter_node.bandwidth_bytes_per_s),
              time(std::max(bytes.out_within, bytes.in_within), cost.intra_node_bytes_per_s,
                   cluster.intra_node.bandwidth_bytes_per_s),
              time(std::max(bytes.out_within + bytes.passed_on, bytes.in_within + bytes.relayed),
                   link, link)});
}

std::vector<double> member_seconds(const OpCost& cost, const GroupCall& call,
                                   const Cluster& cluster) {
  std::vector<double> seconds;
  for (const RankBytes& one : member_bytes(call)) {
    seconds.push_back(seconds_of_bytes(one, cost, call, cluster));
  }
  return seconds;
}

double alone_seconds(const OpCost& cost, const moe::Groups& groups, const Cluster& cluster) {
  double most = 0;
  for (const double seconds : cost.seconds) most = std::max(most, seconds);
  LinkLoads total = link_loads({}, groups);
  double alpha_s = 0;
  for (const GroupCall& call : cost.calls) {
    for (const double seconds : member_seconds(cost, call, cluster)) {
      most = std::max(most, seconds);
    }
    add_link_loads(call, groups, total);
    alpha_s = std::max(alpha_s, call.alpha_s);
    if (!cluster.mesh) continue;
    PairLoads pairs;
    add_pair_loads(call, groups, pairs);
    for (const auto& [pair, bytes] : pairs) {
      most = std::max(most, call.alpha_s + bytes / bytes_per_s_of_pair(cluster));
    }
  }
  const auto carry = [&](const std::vector<double>& loads, const Link& link) {
    for (const double bytes : loads) {
      if (bytes > 0) most = std::max(most, alpha_s + bytes / link.bandwidth_bytes_per_s);
    }
  };
  carry(total.card_out, cluster.inter_node);
  carry(total.card_in, cluster.inter_node);
  for (std::size_t level = 0; level < total.levels.size(); ++level) {
    carry(total.levels[level].out, cluster.levels[level].uplink);
    carry(total.levels[level].in, cluster.levels[level].uplink);
  }
  return most;
}

}  // namespace tuner
