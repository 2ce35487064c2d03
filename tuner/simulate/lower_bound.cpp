#include "tuner/simulate/lower_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "moe/program/start_rule.h"
#include "tuner/costs/call_buffers.h"
#include "tuner/costs/call_loads.h"

namespace tuner {
namespace {

struct Longest {
  double seconds = 0;
  std::string where;
  void offer(double value, auto&& name) {
    if (value > seconds) {
      seconds = value;
      where = name();
    }
  }
};

/// [op]: the ops for which it is the last that waits, and those that none waits for.
std::vector<std::vector<int>> ended_uses(const std::vector<std::vector<int>>& waits) {
  std::vector<int> last(waits.size());
  for (std::size_t op = 0; op < waits.size(); ++op) {
    last[op] = static_cast<int>(op);
    for (const int earlier : waits[op]) last[earlier] = static_cast<int>(op);
  }
  std::vector<std::vector<int>> ended(waits.size());
  for (std::size_t op = 0; op < waits.size(); ++op) ended[last[op]].push_back(static_cast<int>(op));
  return ended;
}

}  // namespace

double LowerBound::seconds() const { return std::max({stream_s, link_s, chain_s}); }

namespace {

/// `rank_of`: the ranks that names say, by class; empty where `groups` are of ranks.
LowerBound bound_of(const moe::Program& program, const moe::Groups& groups,
                    const std::vector<OpCost>& costs, const Cluster& cluster,
                    const std::vector<int>& rank_of) {
  const auto named = [&](std::size_t rank) {
    return rank_of.empty() ? static_cast<int>(rank) : rank_of[rank];
  };
  const auto ranks = static_cast<std::size_t>(groups.ranks);
  const auto waits = moe::waits_for(program);
  std::vector<std::array<double, moe::kStreamCount>> stream(ranks), on_processor(ranks);
  const std::vector<std::vector<int>> last_use = ended_uses(waits);
  std::vector<std::vector<double>> end(program.ops.size());  // of ops that others wait for
  LinkLoads total = link_loads({}, groups);
  PairLoads pairs;  // of a mesh

  Longest chain;
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    std::vector<double> ready(ranks);
    for (const int earlier : waits[op]) {
      const auto& ended = end[earlier];
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        ready[rank] = std::max(ready[rank], ended[rank]);
      }
    }
    std::vector<double> seconds(ranks, 0);
    if (costs[op].activity == moe::Activity::communication) {
      for (const GroupCall& call : costs[op].calls) {
        add_link_loads(call, groups, total);
        if (cluster.mesh) add_pair_loads(call, groups, pairs);
        const auto own = least_member_seconds(costs[op], call, cluster);
        double arrived = 0;
        for (const int rank : call.ranks) {
          arrived = std::max(arrived, ready[rank]);
        }
        for (std::size_t member = 0; member < call.ranks.size(); ++member) {
          ready[call.ranks[member]] = arrived;
          seconds[call.ranks[member]] = own[member];
        }
      }
    } else {
      for (int rank = 0; rank < groups.ranks; ++rank) {
        if (!moe::runs_in(program.ops[op], moe::stage_of(groups, rank))) continue;
        seconds[rank] = seconds_on(costs[op], rank);
      }
    }
    end[op].resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      end[op][rank] = ready[rank] + seconds[rank];
      const auto own = static_cast<std::size_t>(program.ops[op].stream);
      stream[rank][own] += seconds[rank];
      if (costs[op].activity != moe::Activity::communication) {
        on_processor[rank][own] += seconds[rank];
      }
      chain.offer(end[op][rank],
                  [&] { return fmt::format("chain to op {} of rank {}", op, named(rank)); });
    }
    for (const int over : last_use[op]) end[over] = {};
  }

  Longest work, link;
  const auto carry = [&](double bytes, double bytes_per_s, const auto& name) {
    if (bytes > 0) link.offer(bytes / bytes_per_s, name);
  };
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t s = 0; s < moe::kStreamCount; ++s) {
      work.offer(stream[rank][s], [&] {
        return fmt::format("rank {} {}", named(rank),
                           moe::stream_name(static_cast<moe::Stream>(s)));
      });
    }
    const auto carry_within = [&](double bytes, const char* way) {
      carry(bytes, cluster.intra_node.bandwidth_bytes_per_s,
            [&] { return fmt::format("rank {} {}", named(rank), way); });
    };
    carry_within(total.rank_out[rank], "out");
    carry_within(total.rank_in[rank], "in");
  }
  for (const auto& [pair, bytes] : pairs) {
    const auto [from, to] = pair;
    carry(bytes, bytes_per_s_of_pair(cluster), [&, from = from, to = to] {
      return fmt::format("rank {} to {}", named(static_cast<std::size_t>(from)),
                         named(static_cast<std::size_t>(to)));
    });
  }
  const auto carry_all = [&](const std::vector<double>& out, const std::vector<double>& in,
                             const Link& of, std::string_view name) {
    for (std::size_t number = 0; number < out.size(); ++number) {
      carry(out[number], of.bandwidth_bytes_per_s,
            [&] { return fmt::format("{} {} out", name, number); });
      carry(in[number], of.bandwidth_bytes_per_s,
            [&] { return fmt::format("{} {} in", name, number); });
    }
  };
  carry_all(total.card_out, total.card_in, cluster.inter_node,
            groups.card_of.empty() ? "node" : "card");
  for (std::size_t level = 0; level < total.levels.size(); ++level) {
    const NetworkLevel& blocks = cluster.levels[level];
    carry_all(total.levels[level].out, total.levels[level].in, blocks.uplink, blocks.name);
  }

  for (const SharedProcessors& shared :
       contended_processors(cluster.shared_processors, groups.ranks)) {
    double all_s = 0;
    for (const int rank : shared.ranks) {
      const auto& streams = on_processor[rank];
      all_s += *std::max_element(streams.begin(), streams.end());
    }
    work.offer(all_s / shared.seats, [&] {
      return fmt::format("{:g} processors of {} ranks", shared.seats, shared.ranks.size());
    });
  }

  LowerBound bound{work.seconds, link.seconds, chain.seconds, {}, work.where, link.where};
  Longest longest = work;
  if (link.seconds > longest.seconds) longest = link;
  if (chain.seconds > longest.seconds) longest = chain;
  bound.where = longest.where;
  return bound;
}

}  // namespace

LowerBound lower_bound(const moe::Program& program, const moe::Groups& groups,
                       const std::vector<OpCost>& costs, const Cluster& cluster) {
  return bound_of(program, groups, costs, cluster, {});
}

LowerBound lower_bound(const moe::Program& program, const moe::Groups& groups,
                       const moe::Routing& routing, const CostModel& costs,
                       const Cluster& cluster) {
  return lower_bound(program, program_costs(program, groups, routing, costs, cluster), cluster);
}

LowerBound lower_bound(const moe::Program& program, const ProgramCosts& costs,
                       const Cluster& cluster) {
  return bound_of(program, costs.classes.groups, costs.ops, cluster, costs.classes.rank_of);
}

}  // namespace tuner
