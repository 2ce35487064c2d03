#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/program/start_rule.h"
#include "tests/another_process.h"
#include "tests/tuner/single_costs.h"
#include "tests/tuner/small_program.h"
#include "tests/tuner/span_of.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

/// Properties of every simulation, over random models, schedules, routings and costs.
namespace tuner::simulate_property_test {
namespace {

using namespace test;

struct RandomCase {
  moe::Program program;
  moe::Groups groups;
  moe::Routing routing;
  CostModel costs;
  Cluster cluster;
};

/// `largest`: of ranks and blocks; making a program takes longer than simulating it.
RandomCase random_case(unsigned seed, int largest = 6) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + random() % from.size());
  };
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const int ranks = std::min(pick({1, 2, 4, 6}), largest);
  moe::Model model;
  model.name = "random";
  model.sequence_length = 16;
  model.d_model = 32;
  model.d_hidden = 64;
  model.blocks = std::min(pick({1, 2, 3}), largest);
  model.moe_every = pick({1, 2});
  if (model.blocks < model.moe_every) model.blocks = 2;
  model.experts = 12;
  model.choices = pick({1, 2});
  model.global_batch = 12;

  RandomCase c;
  std::vector<int> nodes;
  const int per_node = pick({1, 2, 3});
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank / per_node);
  c.groups =
      moe::make_groups(ranks, ranks % 2 == 0 && random() % 3 == 0 ? ranks / 2 : ranks, nodes);
  c.program = moe::build_iteration(model, c.groups, 0);
  const Degrees degrees{pick({1, 2, 3, 4}), pick({1, 2, 3, 4})};
  moe::Schedule exchanges;
  for (const int layer : moe_layers(c.program)) {
    for (const moe::Phase phase : {moe::Phase::forward, moe::Phase::backward}) {
      const moe::Exchange exchange{layer, phase, {}, static_cast<moe::Route>(random() % 4), 1};
      if (moe::is_legal(c.program, {{}, {exchange}})) {  // as many ranks on every node
        exchanges.decisions.push_back(exchange);
      }
    }
  }
  c.program = moe::apply(c.program, exchanges);
  c.program =
      moe::apply(c.program, pipeline_schedule(c.program, "random", degrees, InNode::beside));
  const std::int64_t copies = 12 / ranks * 16 * model.choices;
  for (int layer = 0; layer < model.blocks; ++layer) {
    c.routing.layers.push_back(moe::zipf_routing(layer, ranks, 12, copies, between(0, 2), seed));
  }
  c.cluster = small_cluster();
  c.cluster.inter_node.bandwidth_bytes_per_s = between(1e8, 1e9);
  c.cluster.intra_node.bandwidth_bytes_per_s = between(1e8, 1e10);
  c.cluster.inter_node.latency_s = between(0, 1e-4);
  const auto fit = [&](double alpha, double beta) {
    const double alpha_s = between(0, alpha);  // drawn first
    return line(alpha_s, between(0, beta));
  };
  c.costs.fits["gemm"] = fit(1e-5, 1e-9);
  c.costs.fits["memory"] = fit(1e-5, 1e-9);
  if (random() % 2) c.costs.fits["all_to_all/inter_node"] = fit(1e-4, 1e-8);
  if (random() % 2) c.costs.fits["all_reduce/inter_node"] = fit(1e-4, 1e-8);
  for (const char* key :
       {"computation_beside_inter_node", "computation_beside_intra_node", "computation_beside_copy",
        "communication_beside_computation", "communication_beside_copy", "copy_beside_computation",
        "copy_beside_communication"}) {
    set_speed(c.costs.interference, key, between(0.3, 1));
  }
  if (random() % 2) set_speed(c.costs.interference, "computation_beside_all", between(0.1, 1));
  if (random() % 2) set_speed(c.costs.interference, "inter_node_beside_all", between(0.1, 1));
  c.costs.gaps.launch_s = between(0, 1e-4);
  if (random() % 2) c.costs.buffers.leaving_bytes = between(0, 1e5);
  if (random() % 2) c.costs.buffers.ahead_bytes = between(0, 1e5);
  if (random() % 4 == 0) c.costs.gaps.queued_s = between(0, 1e-3);
  return c;
}

/// Every tenth op or so that computes becomes a copy.
std::vector<OpCost> with_copies(RandomCase& c, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<OpCost> costs = single_costs(c.program, c.groups, c.routing, c.costs, c.cluster);
  for (std::size_t op = 0; op < costs.size(); ++op) {
    if (costs[op].activity != moe::Activity::computation || random() % 10 != 0) continue;
    costs[op].activity = moe::Activity::copy;
    c.program.ops[op].stream = moe::Stream::copy;
  }
  return costs;
}

TEST(SimulateProperty, IsNeverBelowTheLowerBoundOfTenThousandPrograms) {
  for (unsigned seed = 0; seed < 10'000; ++seed) {
    RandomCase c = random_case(seed, seed < 500 ? 6 : 2);
    const std::vector<OpCost> costs = with_copies(c, seed);
    const double simulated =
        run_simulation(c.program, c.groups, costs, c.costs, c.cluster).duration_s;
    const LowerBound bound = lower_bound(c.program, c.groups, costs, c.cluster);
    EXPECT_LE(bound.seconds(), simulated * (1 + 1e-9)) << "seed " << seed << " " << bound.where;
    EXPECT_GT(bound.seconds(), 0) << "seed " << seed;
  }
}

/// Every span of twenty programs, to the last bit.
std::string spans_of_random_cases() {
  std::string text;
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomCase c = random_case(seed);
    const std::vector<OpCost> costs = with_copies(c, seed);
    for (const auto& spans : run_simulation(c.program, c.groups, costs, c.costs, c.cluster).ranks) {
      for (const auto& span : spans) {
        text += fmt::format("{} {} {:a} {:a}\n", seed, span.op, span.start_s, span.duration_s);
      }
    }
  }
  return text;
}

TEST(SimulateProperty, IsTheSameInEveryProcess) {
  EXPECT_EQ(moelab::test::in_another_process(spans_of_random_cases), spans_of_random_cases());
}

TEST(SimulateProperty, KeepsTheOrderOfStreamsAndDependencies) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const RandomCase c = random_case(seed);
    const auto timeline = simulate(c.program, c.groups, c.routing, c.costs, c.cluster);
    const auto waits = moe::start_rule(c.program).waits_for;
    for (const auto& spans : timeline.ranks) {
      ASSERT_EQ(spans.size(), c.program.ops.size());
      std::array<double, moe::kStreamCount> stream_end{};
      for (std::size_t op = 0; op < spans.size(); ++op) {
        EXPECT_EQ(spans[op].op, static_cast<int>(op));
        auto& end = stream_end[static_cast<std::size_t>(c.program.ops[op].stream)];
        EXPECT_GE(spans[op].start_s, end);
        end = end_of(spans[op]);
        for (const int earlier : waits[op]) {
          EXPECT_GE(spans[op].start_s, end_of(spans[static_cast<std::size_t>(earlier)]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tuner::simulate_property_test
