#include "tuner/simulate/shared_links.h"

#include <gtest/gtest.h>

#include <random>

#include "tuner/simulate/fair_share.h"

namespace tuner::shared_links_test {
namespace {

/// Calls over nodes of some ranks, in which every rank sends or receives alike.
struct Case {
  moe::Groups groups;
  Cluster cluster;
  std::vector<OpCost> costs;
  std::vector<Flow> pairs;
};

GroupCall even_call(const moe::Groups& groups, const std::vector<int>& ranks,
                    const std::vector<double>& to_each, bool by_source) {
  GroupCall call;
  call.ranks = ranks;
  call.link = Occupation::inter_node;
  call.by_source = by_source;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankBytes bytes;
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      if (i == j) continue;
      const bool between = groups.node_of[ranks[i]] != groups.node_of[ranks[j]];
      const double own = to_each[i], others = to_each[j];
      (between ? bytes.out_between : bytes.out_within) += by_source ? own : others;
      (between ? bytes.in_between : bytes.in_within) += by_source ? others : own;
    }
    call.bytes.push_back(bytes);
  }
  return call;
}

Case random_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Case c;
  const int nodes = 1 + static_cast<int>(random() % 4),
            per_node = 1 + static_cast<int>(random() % 4);
  std::vector<int> node_of;
  for (int rank = 0; rank < nodes * per_node; ++rank) node_of.push_back(rank / per_node);
  c.groups = moe::make_groups(nodes * per_node, nodes * per_node, node_of);
  c.cluster.inter_node.bandwidth_bytes_per_s = between(1, 8);
  c.cluster.intra_node.bandwidth_bytes_per_s = between(1, 8);
  const int calls = 1 + static_cast<int>(random() % 3);
  for (int op = 0; op < calls; ++op) {
    OpCost& cost = c.costs.emplace_back();
    cost.activity = moe::Activity::communication;
    cost.inter_node_bytes_per_s = between(0.5, 4);
    cost.intra_node_bytes_per_s = between(0.5, 4);
    std::vector<int> ranks;
    const unsigned step = 1 + random() % 2;  // all ranks, or every other one
    for (int rank = 0; rank < c.groups.ranks; rank += static_cast<int>(step)) ranks.push_back(rank);
    std::vector<double> to_each;
    for (std::size_t i = 0; i < ranks.size(); ++i) to_each.push_back(random() % 4 ? 1 : 0);
    cost.calls.push_back(even_call(c.groups, ranks, to_each, random() % 2 == 0));
  }
  if (random() % 2) {  // a ring beside them
    OpCost& cost = c.costs.emplace_back();
    cost.inter_node_bytes_per_s = between(0.5, 4);
    cost.intra_node_bytes_per_s = between(0.5, 4);
    GroupCall& ring = cost.calls.emplace_back();
    for (int rank = 0; rank < c.groups.ranks; ++rank) ring.ranks.push_back(rank);
    for (int rank = 0; rank < c.groups.ranks && c.groups.ranks > 1; ++rank) {
      const int next = (rank + 1) % c.groups.ranks;
      Flow flow;
      flow.op = static_cast<int>(c.costs.size()) - 1;
      flow.from = flow.from_member = rank;
      flow.to = flow.to_member = next;
      flow.bytes_left = 1;
      flow.between_nodes =
          node_of[static_cast<std::size_t>(rank)] != node_of[static_cast<std::size_t>(next)];
      c.pairs.push_back(flow);
    }
  }
  return c;
}

double speed_of_rank(int rank, Occupation) { return rank % 3 == 0 ? 0.7 : 1; }

/// The rates of the same transfers one by one.
std::vector<Flow> listed(const Case& c) {
  std::vector<Flow> flows;
  for (std::size_t op = 0; op < c.costs.size(); ++op) {
    const GroupCall& call = c.costs[op].calls[0];
    if (call.bytes.empty()) continue;
    for (std::size_t i = 0; i < call.ranks.size(); ++i) {
      for (std::size_t j = 0; j < call.ranks.size(); ++j) {
        const RankBytes& driving = call.bytes[call.by_source ? i : j];
        const bool between = c.groups.node_of[call.ranks[i]] != c.groups.node_of[call.ranks[j]];
        const double bytes = call.by_source ? (between ? driving.out_between : driving.out_within)
                                            : (between ? driving.in_between : driving.in_within);
        if (i == j || bytes <= 0) continue;
        Flow flow;
        flow.op = static_cast<int>(op);
        flow.from = call.ranks[i];
        flow.to = call.ranks[j];
        flow.from_member = static_cast<int>(i);
        flow.to_member = static_cast<int>(j);
        flow.bytes_left = 1;
        flow.between_nodes = between;
        flows.push_back(flow);
      }
    }
  }
  return flows;
}

TEST(SharedLinks, CountedTransfersHaveTheRatesOfListedOnes) {
  int overlapping = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Case c = random_case(seed);
    std::vector<Flow> flows = listed(c);
    const std::size_t of_calls = flows.size();
    flows.insert(flows.end(), c.pairs.begin(), c.pairs.end());
    if (flows.empty()) continue;
    const std::vector<double> expected =
        flow_rates(flows, c.costs, c.groups, c.cluster, speed_of_rank);
    std::list<MovingCall> calls;
    for (std::size_t op = 0; op < c.costs.size(); ++op) {
      const GroupCall& call = c.costs[op].calls[0];
      if (!call.bytes.empty()) calls.emplace_back(static_cast<int>(op), 0, 0, call, c.groups);
    }
    overlapping += calls.size() > 1;
    share_links(calls, c.pairs, c.costs, c.groups, c.cluster, speed_of_rank);
    for (std::size_t i = 0; i < c.pairs.size(); ++i) {
      ASSERT_NEAR(c.pairs[i].rate, expected[of_calls + i], 1e-7 * expected[of_calls + i]) << seed;
    }
    for (const MovingCall& call : calls) {
      const GroupCall& group = *call.group;
      for (std::size_t member = 0; member < group.ranks.size(); ++member) {
        for (const MovingCall::Part part : MovingCall::kParts) {
          double sum = 0;
          for (std::size_t i = 0; i < of_calls; ++i) {
            const Flow& flow = flows[i];
            const int own = group.by_source ? flow.from_member : flow.to_member;
            if (flow.op != call.op || own != static_cast<int>(member)) continue;
            if (flow.between_nodes != (part == MovingCall::between_nodes)) continue;
            sum += expected[i];
          }
          const MovingCall::RankFlow& flow = call.flows[member][part];
          ASSERT_EQ(flow.under_way, sum > 0) << seed;
          if (!flow.under_way) continue;
          ASSERT_NEAR(flow.rate, sum, 1e-7 * sum) << seed;
        }
      }
    }
  }
  EXPECT_GT(overlapping, 1000);
}

}  // namespace
}  // namespace tuner::shared_links_test
