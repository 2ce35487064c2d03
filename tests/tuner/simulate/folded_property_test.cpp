#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "moe/program/work.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

/// What costs and simulations fold (ranks that are alike, transfers of a rank on a link) beside the
/// same without folding, over random models, layouts, schedules, routings and costs.
namespace tuner::folded_property_test {
namespace {

using namespace test;

struct RandomCase {
  moe::Program program;
  moe::Groups groups;
  moe::Routing routing;
  CostModel costs;
  Cluster cluster;
};

RandomCase random_case(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + random() % from.size());
  };
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  RandomCase c;
  const moe::Layout layout{pick({1, 1, 2}), pick({4, 8, 12}), pick({1, 1, 2}), 1, 1};
  const int ranks = moe::rank_count(layout), per_node = pick({1, 2, 4, 8});
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank / per_node);
  c.groups = moe::make_groups(layout, nodes);
  moe::Model model;
  model.name = "random";
  model.sequence_length = 64;
  model.d_model = 64;
  model.d_hidden = 128;
  model.blocks = pick({1, 2});
  model.moe_every = 1;
  model.experts = seed % 3 == 0 ? 29 : 24;  // 29: unevenly on any ranks
  model.choices = pick({1, 2});
  model.global_batch = 96;
  c.program = moe::build_iteration(model, c.groups, 0);
  const Degrees degrees{pick({1, 2, 3}), pick({1, 2, 3})};
  // In half of the cases gradients are reduced on another stream than that of the exchanges, beside
  // which they pass through the same cards.
  moe::Schedule schedule = pipeline_schedule(c.program, "random", degrees, InNode::beside);
  if (random() % 2) {
    schedule.decisions.push_back(
        moe::StreamAssignment{std::string(moe::AllReduce::facts.name), moe::Stream::intra_node});
  }
  c.program = moe::apply(c.program, schedule);
  const std::int64_t copies = 96 / ranks * 64 * model.choices;
  const double skew = random() % 4 == 0 ? 0 : between(0, 2);
  for (int layer = 0; layer < model.blocks; ++layer) {
    c.routing.layers.push_back(
        moe::zipf_routing(layer, 1, model.experts, copies, skew, seed + layer));
    c.routing.layers.back().alike = ranks;
  }
  c.cluster = small_cluster();
  c.cluster.inter_node.bandwidth_bytes_per_s = between(1e8, 2e9);
  c.cluster.intra_node.bandwidth_bytes_per_s = between(1e9, 1e10);
  c.cluster.inter_node.latency_s = between(0, 1e-4);
  const auto fit = [&](double alpha, double beta) {
    const double alpha_s = between(0, alpha);  // drawn first
    return line(alpha_s, between(beta / 10, beta));
  };
  c.costs.fits["gemm"] = fit(1e-5, 1e-10);
  c.costs.fits["memory"] = fit(1e-5, 1e-10);
  if (random() % 2) c.costs.fits["all_to_all/inter_node"] = fit(1e-4, 5e-9);
  if (random() % 2) c.costs.fits["all_reduce/inter_node"] = fit(1e-4, 5e-9);
  set_speed(c.costs.interference, "computation_beside_communication", between(0.5, 1));
  if (random() % 3 == 0) {
    set_speed(c.costs.interference, "communication_beside_computation", between(0.5, 1));
  }
  c.costs.gaps.launch_s = between(0, 1e-5);
  const int of_card = pick({1, 2});
  const bool several_cards = of_card < per_node && random() % 2;
  for (int rank = 0; rank < ranks && several_cards; ++rank) {
    c.groups.card_of.push_back(rank / of_card);
  }
  c.cluster.ranks_per_node = per_node;
  c.cluster.mesh = per_node > 1 && random() % 4 == 0;
  c.cluster.receivers_card = several_cards && random() % 3 == 0;
  for (int rank = 0; rank < ranks && c.cluster.receivers_card; ++rank) {
    c.groups.place_of.push_back(rank % per_node);
  }
  // The uplink of a block has from an eighth of what its cards have to all of it.
  const int nodes_of_job = (ranks + per_node - 1) / per_node;
  const auto add_level = [&](int nodes_of_block, bool rails) {
    if (random() % 3 != 0) return;
    moe::Level& level = c.groups.levels.emplace_back();
    const int cards_of_node = several_cards ? per_node / of_card : 1;
    for (int rank = 0; rank < ranks; ++rank) {
      const int block = rank / per_node / nodes_of_block;
      level.block_of.push_back(rails ? block * cards_of_node + rank % per_node / of_card : block);
    }
    const double cards = nodes_of_block * (rails ? 1 : cards_of_node);
    const double rate = c.cluster.inter_node.bandwidth_bytes_per_s * cards * between(0.125, 1);
    c.cluster.levels.push_back({"blocks", nodes_of_block, rails, {rate, between(0, 1e-4)}});
  };
  const int of_block = pick({2, 3});
  if (several_cards && nodes_of_job > 1 && random() % 2) {
    add_level(of_block, true);
    add_level(nodes_of_job, true);
  } else if (nodes_of_job > 1) {
    add_level(of_block, false);
    add_level(2 * of_block, false);
  }
  return c;
}

ProgramCosts costs_of(const RandomCase& c, const Folding& folding) {
  return program_costs(c.program, c.groups, c.routing, c.costs, c.cluster, folding);
}

constexpr Folding kTransfers{1 << 20, 0, 1 << 20};
constexpr Folding kEven{1 << 20, std::int64_t{1} << 40, 0};
constexpr Folding kAll{0, 0, 0};

/// Whether two collectives move through one card at a time.
bool cards_are_shared(const RandomCase& c, const moe::Timeline& timeline) {
  for (const auto& spans : timeline.ranks) {
    std::vector<moe::OpSpan> calls;
    for (const moe::OpSpan& span : spans) {
      if (moe::is_communication(c.program.ops[static_cast<std::size_t>(span.op)])) {
        calls.push_back(span);
      }
    }
    std::ranges::sort(calls, {}, &moe::OpSpan::start_s);
    for (std::size_t i = 1; i < calls.size(); ++i) {
      if (calls[i].start_s < calls[i - 1].start_s + 0.9 * calls[i - 1].duration_s) return true;
    }
  }
  return false;
}

TEST(Folded, CostsAreThoseOfEachRankWhereNothingIsFolded) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const RandomCase c = random_case(seed);
    const ProgramCosts single = costs_of(c, kNotFolded);
    const std::vector<moe::Binding> bindings = bind_all(c.program, c.groups, c.routing);
    for (std::size_t i = 0; i < single.ops.size(); ++i) {
      const moe::Op& op = c.program.ops[i];
      for (const GroupCall& call : single.ops[i].calls) {
        std::vector<std::tuple<int, int, std::int64_t>> found, expected;
        for (const Transfer& one : call.transfers) found.emplace_back(one.from, one.to, one.bytes);
        for (const int from : call.ranks) {
          const auto bytes = moe::bytes_to_peers(
              c.program, op, bindings[static_cast<std::size_t>(from)], c.groups, from);
          for (std::size_t peer = 0; peer < bytes.size(); ++peer) {
            if (bytes[peer] > 0) expected.emplace_back(from, call.ranks[peer], bytes[peer]);
          }
        }
        ASSERT_EQ(found, expected) << seed << " op " << i;
      }
      if (moe::is_communication(op)) continue;
      for (int rank = 0; rank < c.groups.ranks; ++rank) {
        if (!moe::runs_in(op, moe::stage_of(c.groups, rank))) continue;
        const moe::Binding& binding = bindings[static_cast<std::size_t>(rank)];
        ASSERT_EQ(seconds_on(single.ops[i], rank),
                  seconds(c.costs, c.program, op, binding, c.groups, rank));
      }
    }
  }
}

/// Calls with bytes by rank take blocks and relays as shares (link_filling.h).
double tolerance(const RandomCase& c, const ProgramCosts& costs) {
  const bool by_rank = costs.classes.rank_of.size() == static_cast<std::size_t>(c.groups.ranks);
  const bool has_shares = !c.groups.levels.empty() || c.cluster.receivers_card;
  const bool even = c.routing.layers.front().experts % c.groups.layout.expert == 0;
  if (by_rank && has_shares) return even ? 5e-2 : 7e-2;
  return c.groups.card_of.empty() && !has_shares ? 1e-3 : 2e-3;
}

TEST(Folded, TimesAreThoseOfSingleRanks) {
  int shared = 0, folded = 0;
  double worst = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const RandomCase c = random_case(seed);
    const moe::Timeline exact = simulate(c.program, costs_of(c, kNotFolded), c.costs, c.cluster);
    shared += cards_are_shared(c, exact);
    for (const Folding& folding : {kTransfers, kAll}) {
      const ProgramCosts costs = costs_of(c, folding);
      const moe::Timeline timeline = simulate(c.program, costs, c.costs, c.cluster);
      const double off = timeline.duration_s / exact.duration_s - 1;
      worst = std::max(worst, std::abs(off));
      EXPECT_NEAR(off, 0, tolerance(c, costs))
          << "seed " << seed << ", " << c.groups.ranks << " ranks in "
          << costs.classes.rank_of.size() << " classes, " << c.groups.levels.size() << " levels"
          << (c.cluster.receivers_card ? ", receiver's card" : "")
          << (c.cluster.mesh ? ", mesh" : "");
      EXPECT_LE(lower_bound(c.program, costs, c.cluster).seconds(),
                timeline.duration_s * (1 + 1e-9))
          << seed;
    }
    folded += costs_of(c, kAll).classes.rank_of.size() < static_cast<std::size_t>(c.groups.ranks);
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_GT(shared, 200) << "cases in which calls share a card";
  EXPECT_GT(folded, 200) << "cases in which ranks are alike";
}

TEST(Folded, NextToNothingIsLostWhereLoadsAreEven) {
  int folded = 0, beyond = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const RandomCase c = random_case(seed);
    const ProgramCosts costs = costs_of(c, kEven);
    if (costs.classes.rank_of.size() == static_cast<std::size_t>(c.groups.ranks)) continue;
    ++folded;
    const double exact_s =
        simulate(c.program, costs_of(c, kNotFolded), c.costs, c.cluster).duration_s;
    const double folded_s = simulate(c.program, costs, c.costs, c.cluster).duration_s;
    const double off = std::abs(folded_s / exact_s - 1);
    EXPECT_LT(off, 1e-3) << seed;
    beyond += off > 1e-4;
  }
  EXPECT_GT(folded, 50);
  EXPECT_LE(beyond, 10);
}

}  // namespace
}  // namespace tuner::folded_property_test
