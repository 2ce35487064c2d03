#include "tuner/simulate/lower_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "moe/program/start_rule.h"

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

}  // namespace

double LowerBound::seconds() const { return std::max({stream_s, link_s, chain_s}); }

LowerBound lower_bound(const moe::Program& program, const moe::Groups& groups,
                       const std::vector<OpCost>& costs, const Cluster& cluster) {
  const auto ranks = static_cast<std::size_t>(groups.ranks);
  const auto waits = moe::waits_for(program);
  std::vector<std::array<double, moe::kStreamCount>> stream(ranks), on_processor(ranks);
  std::vector<std::vector<double>> end(program.ops.size(), std::vector<double>(ranks));
  LinkLoads total = link_loads({}, groups);
  const auto add = [](std::vector<double>& sum, const std::vector<double>& part) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  };

  Longest chain;
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    std::vector<double> ready(ranks);
    for (const int earlier : waits[op]) {
      const auto& ended = end[earlier];
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        ready[rank] = std::max(ready[rank], ended[rank]);
      }
    }
    std::vector<double> seconds = costs[op].seconds;
    if (costs[op].activity == moe::Activity::communication) {
      seconds.assign(ranks, 0);
      for (const GroupCall& call : costs[op].calls) {
        const LinkLoads loads = link_loads(call, groups);
        add(total.node_out, loads.node_out);
        add(total.node_in, loads.node_in);
        add(total.rank_out, loads.rank_out);
        add(total.rank_in, loads.rank_in);
        const auto own = call_seconds(costs[op], call, groups, cluster);
        double arrived = 0;
        for (const int rank : call.ranks) {
          arrived = std::max(arrived, ready[rank]);
        }
        for (const int rank : call.ranks) {
          ready[rank] = arrived;
          seconds[rank] = own[rank];
        }
      }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      end[op][rank] = ready[rank] + seconds[rank];
      const auto own = static_cast<std::size_t>(program.ops[op].stream);
      stream[rank][own] += seconds[rank];
      if (costs[op].activity != moe::Activity::communication) {
        on_processor[rank][own] += seconds[rank];
      }
      chain.offer(end[op][rank],
                  [&] { return fmt::format("chain to op {} of rank {}", op, rank); });
    }
  }

  Longest work, link;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t s = 0; s < moe::kStreamCount; ++s) {
      work.offer(stream[rank][s], [&] {
        return fmt::format("rank {} {}", rank, moe::stream_name(static_cast<moe::Stream>(s)));
      });
    }
    const auto carry = [&](double bytes, const char* way) {
      if (bytes <= 0) return;
      link.offer(bytes / cluster.intra_node.bandwidth_bytes_per_s,
                 [&] { return fmt::format("rank {} {}", rank, way); });
    };
    carry(total.rank_out[rank], "out");
    carry(total.rank_in[rank], "in");
  }
  for (std::size_t node = 0; node < total.node_out.size(); ++node) {
    const auto carry = [&](double bytes, const char* way) {
      if (bytes <= 0) return;
      link.offer(bytes / cluster.inter_node.bandwidth_bytes_per_s,
                 [&] { return fmt::format("node {} {}", node, way); });
    };
    carry(total.node_out[node], "out");
    carry(total.node_in[node], "in");
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

  LowerBound bound{work.seconds, link.seconds, chain.seconds, {}};
  Longest longest = work;
  if (link.seconds > longest.seconds) longest = link;
  if (chain.seconds > longest.seconds) longest = chain;
  bound.where = longest.where;
  return bound;
}

LowerBound lower_bound(const moe::Program& program, const moe::Groups& groups,
                       const moe::Routing& routing, const CostModel& costs,
                       const Cluster& cluster) {
  return lower_bound(program, groups,
                     op_costs(program, groups, bind_all(program, groups, routing), costs, cluster),
                     cluster);
}

}  // namespace tuner
