#include "tuner/costs/op_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "moe/errors.h"
#include "moe/ops/collective.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"

namespace tuner {
namespace {

/// The rings of an op that moves experts, and the bytes of an expert that pass them together.
struct Rings {
  std::vector<moe::ExpertMove> moves;  ///< empty without rings
  std::int64_t fragment_bytes = 0;
};
Rings rings_of(const moe::Program& program, const moe::Op& op, const moe::Groups& groups) {
  Rings rings;
  std::visit(
      [&](const auto& kind) {
        if constexpr (moe::MovesExperts<std::decay_t<decltype(kind)>>) {
          if (!kind.on_rings()) return;
          const int members = groups.layout.expert;
          rings.moves = kind.moves(members);
          for (std::size_t i = 0; i < op.writes.size(); ++i) {
            const moe::Tensor& tensor = program.tensors[op.reads[i].tensor];
            const auto block = moe::elements_of(kind.block_rows(tensor.rows, members),
                                                tensor.columns, 0, kind.share);
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

OpCost communication_cost(const moe::Program& program, const moe::Op& op, const moe::Groups& groups,
                          const std::vector<moe::Binding>& bindings, const CostModel& costs,
                          const Cluster& cluster) {
  OpCost cost;
  cost.activity = moe::Activity::communication;
  cost.call_of.assign(static_cast<std::size_t>(groups.ranks), -1);
  const auto fit_on = [&](std::string_view link) -> const LinearFit* {
    const CollectiveFit* found = collective_fit(costs, op, link);
    return found == nullptr ? nullptr : &found->second;
  };
  const LinearFit* inter = fit_on("inter_node");
  const LinearFit* intra = fit_on("intra_node");
  const Rings rings = rings_of(program, op, groups);
  const LinkCost across =
      link_cost(costs, op, Occupation::inter_node, cluster.inter_node, rings.fragment_bytes);
  const LinkCost within =
      link_cost(costs, op, Occupation::intra_node, cluster.intra_node, rings.fragment_bytes);
  cost.inter_node_bytes_per_s = across.bytes_per_s;
  cost.intra_node_bytes_per_s = within.bytes_per_s;

  for (int rank = 0; rank < groups.ranks; ++rank) {
    if (!moe::runs_in(op, moe::stage_of(groups, rank))) continue;
    if (cost.call_of[rank] >= 0) continue;
    GroupCall call;
    call.ranks = moe::members(groups, moe::group_of(op).value(), rank);
    bool between_nodes = false, within_node = false;
    for (const int from : call.ranks) {
      cost.call_of[from] = static_cast<int>(cost.calls.size());
      const auto bytes = moe::bytes_to_peers(program, op, bindings[from], groups, from);
      for (std::size_t peer = 0; peer < bytes.size(); ++peer) {
        if (bytes[peer] <= 0) continue;
        const int to = call.ranks[peer];
        call.transfers.push_back({from, to, bytes[peer]});
        const bool same = groups.node_of[from] == groups.node_of[to];
        (same ? within_node : between_nodes) = true;
      }
    }
    const bool no_inter = between_nodes && !(cost.inter_node_bytes_per_s > 0);
    if (no_inter || (within_node && !(cost.intra_node_bytes_per_s > 0))) {
      const std::string_view name = op.name.empty() ? moe::kind_name(op) : op.name;
      const std::string_view link = no_inter ? "inter_node link" : "intra_node link";
      throw moe::Refusal(fmt::format("cluster {}", cluster.name),
                         fmt::format("{} runs between ranks {}, but no {} is given", name,
                                     no_inter ? "of several nodes" : "of one node", link),
                         fmt::format("expected the {} in the cluster's file", link),
                         {std::string(name), op.layer});
    }
    // A group of one waits for nobody: it costs only what was measured for it, inside a node.
    const bool alone = call.ranks.size() == 1;
    const bool inside = std::ranges::all_of(call.ranks, [&](int rank) {
      return groups.node_of[rank] == groups.node_of[call.ranks.front()];
    });
    if (between_nodes || (!within_node && !intra && inter && !inside)) {
      call.link = Occupation::inter_node;
      call.alpha_s = across.startup_s + fill_s(rings, call.ranks, groups, across, within);
    } else if (within_node || intra || (inside && !alone)) {
      call.alpha_s = within.startup_s + fill_s(rings, call.ranks, groups, across, within);
    }
    cost.calls.push_back(std::move(call));
  }
  return cost;
}

}  // namespace

LinkCost link_cost(const CostModel& costs, const moe::Op& op, Occupation occupation,
                   const Link& link, std::int64_t fragment_bytes) {
  const CollectiveFit* fit = collective_fit(costs, op, name_of(occupation));
  LinkCost cost{link.latency_s, 0, link.bandwidth_bytes_per_s};
  if (fit != nullptr) {
    cost.startup_s = fit->second.alpha_s;
    if (fit->second.beta_s_per_unit > 0) cost.bytes_per_s = 1 / fit->second.beta_s_per_unit;
  }
  const bool fills = fit == nullptr || !is_of_chains(*fit);
  if (fills && fragment_bytes > 0 && cost.bytes_per_s > 0) {
    cost.pass_s = static_cast<double>(fragment_bytes) / cost.bytes_per_s;
  }
  return cost;
}

double ring_fill_s(const RingHops& hops, double across_s, double within_s) {
  const double slowest_s = std::max(hops.across > 0 ? across_s : 0, hops.within > 0 ? within_s : 0);
  return hops.across * across_s + hops.within * within_s - slowest_s;
}

Occupation occupation_of(const OpCost& cost) {
  return cost.activity == moe::Activity::copy ? Occupation::copy : Occupation::computation;
}

std::vector<OpCost> op_costs(const moe::Program& program, const moe::Groups& groups,
                             const std::vector<moe::Binding>& bindings, const CostModel& costs,
                             const Cluster& cluster) {
  std::vector<OpCost> result;
  result.reserve(program.ops.size());
  for (const moe::Op& op : program.ops) {
    if (moe::is_communication(op)) {
      result.push_back(communication_cost(program, op, groups, bindings, costs, cluster));
      continue;
    }
    OpCost cost;
    cost.activity = moe::facts_of(op).activity;
    cost.speed_beside_communication =
        speed_beside_communication(costs.interference, moe::kind_name(op));
    cost.seconds.assign(static_cast<std::size_t>(groups.ranks), 0);
    const bool differs = moe::uses_routed_rows(program, op) ||
                         std::holds_alternative<moe::AddReturned>(op.kind);  // by rank
    std::optional<double> of_first;
    for (int rank = 0; rank < groups.ranks; ++rank) {
      if (!moe::runs_in(op, moe::stage_of(groups, rank))) continue;
      if (differs || !of_first) {
        of_first = seconds(costs, program, op, bindings[rank], groups, rank);
      }
      cost.seconds[rank] = *of_first;
    }
    result.push_back(std::move(cost));
  }
  return result;
}

std::vector<moe::Binding> bind_all(const moe::Program& program, const moe::Groups& groups,
                                   const moe::Routing& routing) {
  std::vector<moe::Binding> bindings;
  for (int rank = 0; rank < groups.ranks; ++rank) {
    bindings.push_back(moe::bind(program, routing, groups, rank));
  }
  return bindings;
}

LinkLoads link_loads(const GroupCall& call, const moe::Groups& groups) {
  const auto ranks = static_cast<std::size_t>(groups.ranks);
  const auto nodes =
      static_cast<std::size_t>(*std::max_element(groups.node_of.begin(), groups.node_of.end()) + 1);
  LinkLoads loads{std::vector<double>(nodes), std::vector<double>(nodes),
                  std::vector<double>(ranks), std::vector<double>(ranks)};
  for (const Transfer& transfer : call.transfers) {
    const auto from = static_cast<std::size_t>(transfer.from);
    const auto to = static_cast<std::size_t>(transfer.to);
    const auto from_node = static_cast<std::size_t>(groups.node_of[from]);
    const auto to_node = static_cast<std::size_t>(groups.node_of[to]);
    const auto bytes = static_cast<double>(transfer.bytes);
    if (from_node == to_node) {
      loads.rank_out[from] += bytes;
      loads.rank_in[to] += bytes;
    } else {
      loads.node_out[from_node] += bytes;
      loads.node_in[to_node] += bytes;
    }
  }
  return loads;
}

std::vector<double> call_seconds(const OpCost& cost, const GroupCall& call,
                                 const moe::Groups& groups, const Cluster& cluster) {
  const auto ranks = static_cast<std::size_t>(groups.ranks);
  struct Bytes {
    double out = 0, in = 0;
    double most() const { return std::max(out, in); }
  };
  std::vector<Bytes> between(ranks), within(ranks);
  for (const Transfer& transfer : call.transfers) {
    const auto from = static_cast<std::size_t>(transfer.from);
    const auto to = static_cast<std::size_t>(transfer.to);
    auto& bytes = groups.node_of[from] == groups.node_of[to] ? within : between;
    bytes[from].out += static_cast<double>(transfer.bytes);
    bytes[to].in += static_cast<double>(transfer.bytes);
  }
  const auto time = [](double bytes, double fitted, double link) {
    return bytes > 0 ? bytes / std::min(fitted, link) : 0;
  };
  std::vector<double> seconds(ranks, 0);
  for (const int member : call.ranks) {
    const auto rank = static_cast<std::size_t>(member);
    seconds[rank] = call.alpha_s + std::max(time(between[rank].most(), cost.inter_node_bytes_per_s,
                                                 cluster.inter_node.bandwidth_bytes_per_s),
                                            time(within[rank].most(), cost.intra_node_bytes_per_s,
                                                 cluster.intra_node.bandwidth_bytes_per_s));
  }
  return seconds;
}

double alone_seconds(const OpCost& cost, const moe::Groups& groups, const Cluster& cluster) {
  double most = 0;
  for (const double seconds : cost.seconds) most = std::max(most, seconds);
  LinkLoads total = link_loads({}, groups);
  double alpha_s = 0;
  for (const GroupCall& call : cost.calls) {
    for (const double seconds : call_seconds(cost, call, groups, cluster)) {
      most = std::max(most, seconds);
    }
    const LinkLoads loads = link_loads(call, groups);
    for (std::size_t node = 0; node < total.node_out.size(); ++node) {
      total.node_out[node] += loads.node_out[node];
      total.node_in[node] += loads.node_in[node];
    }
    alpha_s = std::max(alpha_s, call.alpha_s);
  }
  for (const auto* cards : {&total.node_out, &total.node_in}) {
    for (const double bytes : *cards) {
      if (bytes > 0)
        most = std::max(most, alpha_s + bytes / cluster.inter_node.bandwidth_bytes_per_s);
    }
  }
  return most;
}

}  // namespace tuner
