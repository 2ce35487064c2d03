#include "tuner/simulate/shared_links.h"

#include <gtest/gtest.h>

#include <list>
#include <random>

#include "tuner/simulate/flow_rates.h"
#include "tuner/simulate/moving_call.h"

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
  c.cluster.ranks_per_node = per_node;
  c.cluster.mesh = random() % 2 == 0;
  const int of_card = 1 + static_cast<int>(random() % static_cast<unsigned>(per_node));
  if (of_card < per_node && per_node % of_card == 0) {  // several cards a node
    for (int rank = 0; rank < c.groups.ranks; ++rank) c.groups.card_of.push_back(rank / of_card);
  }
  return c;
}

double speed_of_rank(int rank, Occupation) { return rank % 3 == 0 ? 0.7 : 1; }

/// The transfers of a call that are under way, one by one.
std::vector<Flow> listed(const MovingCall& call, const moe::Groups& groups) {
  std::vector<Flow> flows;
  const std::vector<int>& ranks = call.group->ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      const bool between = groups.node_of[ranks[i]] != groups.node_of[ranks[j]];
      const auto part = between ? MovingCall::between_nodes : MovingCall::within_node;
      if (i == j || !call.flows[call.group->by_source ? i : j][part].under_way) continue;
      Flow flow;
      flow.op = call.op;
      flow.from = ranks[i];
      flow.to = ranks[j];
      flow.from_member = static_cast<int>(i);
      flow.to_member = static_cast<int>(j);
      flow.bytes_left = 1;
      flow.between_nodes = between;
      flows.push_back(flow);
    }
  }
  return flows;
}

/// Asserts that the rates are those that all transfers have one by one.
void expect_rates_of_listed(const Case& c, const std::list<MovingCall>& calls,
                            const std::vector<Flow>& pairs, const SharedLinks::Speed& speed) {
  std::vector<Flow> flows = pairs;
  for (const MovingCall& call : calls) {
    const std::vector<Flow> of_call = listed(call, c.groups);
    flows.insert(flows.end(), of_call.begin(), of_call.end());
  }
  if (flows.empty()) return;
  const std::vector<double> expected = flow_rates(flows, c.costs, c.groups, c.cluster, speed);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_NEAR(pairs[i].rate, expected[i], 1e-7 * expected[i]);
  }
  for (const MovingCall& call : calls) {
    const GroupCall& group = *call.group;
    for (std::size_t member = 0; member < group.ranks.size(); ++member) {
      for (const MovingCall::Part part : MovingCall::kParts) {
        double sum = 0;
        for (std::size_t i = pairs.size(); i < flows.size(); ++i) {
          const Flow& flow = flows[i];
          const int own = group.by_source ? flow.from_member : flow.to_member;
          if (flow.op != call.op || own != static_cast<int>(member)) continue;
          if (flow.between_nodes != (part == MovingCall::between_nodes)) continue;
          sum += expected[i];
        }
        const MovingCall::RankFlow& flow = call.flows[member][part];
        ASSERT_EQ(flow.under_way, sum > 0);
        if (flow.under_way) {
          ASSERT_NEAR(flow.rate, sum, 1e-7 * sum);
        }
      }
    }
  }
}

MovingCall call_of(const Case& c, int op) { return {op, 0, 0, c.costs[op].calls[0], c.groups}; }

TEST(SharedLinks, CountedTransfersHaveTheRatesOfListedOnes) {
  int overlapping = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Case c = random_case(seed);
    std::list<MovingCall> calls;
    for (std::size_t op = 0; op < c.costs.size(); ++op) {
      if (!c.costs[op].calls[0].bytes.empty()) calls.push_back(call_of(c, static_cast<int>(op)));
    }
    overlapping += calls.size() > 1;
    SharedLinks(c.costs, c.groups, c.cluster).share(calls, c.pairs, speed_of_rank);
    ASSERT_NO_FATAL_FAILURE(expect_rates_of_listed(c, calls, c.pairs, speed_of_rank));
  }
  EXPECT_GT(overlapping, 1000);
}

/// Calls and pairs that begin and end one after the other, and ranks that become slower and faster.
TEST(SharedLinks, KeptRatesAreThoseOfAFreshStart) {
  int shared = 0, compared = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed);
    std::mt19937 random(seed);
    std::vector<double> speeds(static_cast<std::size_t>(c.groups.ranks), 1);
    const auto speed = [&](int rank, Occupation) { return speeds[rank]; };
    SharedLinks kept(c.costs, c.groups, c.cluster);
    std::list<MovingCall> calls;
    std::vector<Flow> pairs;
    std::size_t begun = 0;
    for (int step = 1; step < 60; ++step) {
      const bool begins = begun < c.costs.size() && (calls.empty() || random() % 6 == 0);
      if (begins && c.costs[begun].calls[0].bytes.empty()) {
        pairs = c.pairs;
      } else if (begins) {
        MovingCall& call = calls.emplace_back(call_of(c, static_cast<int>(begun)));
        call.newly_ended();
      }
      begun += begins;
      if (random() % 8 == 0) speeds[random() % speeds.size()] = random() % 2 ? 1 : 0.6;
      for (MovingCall& call : calls) {
        call.each_under_way([&](MovingCall::Part, MovingCall::RankFlow& flow) {
          if (!begins && random() % 10 == 0) flow.end = step;
        });
        call.end_flows(step);
      }
      calls.remove_if([](const MovingCall& call) { return call.is_over(); });
      std::erase_if(pairs, [&](const Flow&) { return !begins && random() % 10 == 0; });

      kept.share(calls, pairs, speed);
      ++shared;
      ASSERT_NO_FATAL_FAILURE(expect_rates_of_listed(c, calls, pairs, speed));
      std::list<MovingCall> same_calls = calls;
      std::vector<Flow> same_pairs = pairs;
      SharedLinks(c.costs, c.groups, c.cluster).share(same_calls, same_pairs, speed);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        ASSERT_EQ(pairs[i].rate, same_pairs[i].rate) << step;
      }
      for (auto call = calls.begin(), same = same_calls.begin(); call != calls.end();
           ++call, ++same) {
        for (std::size_t member = 0; member < call->flows.size(); ++member) {
          for (const MovingCall::Part part : MovingCall::kParts) {
            if (!call->flows[member][part].under_way) continue;
            ASSERT_EQ(call->flows[member][part].rate, same->flows[member][part].rate) << step;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(shared, 20000);
  EXPECT_GT(compared, 20000);
}

}  // namespace
}  // namespace tuner::shared_links_test
