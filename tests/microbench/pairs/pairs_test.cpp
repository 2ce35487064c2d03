#include "microbench/pairs/pairs.h"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "moe/errors.h"

namespace microbench::pairs_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

struct Fault {
  bool spoils = false;  ///< what arrives
  double late_s = 0;    ///< what is sent, but for answers
};

/// Passes everything on, with a fault.
class FaultyCard : public moe::Communicator {
 public:
  FaultyCard(moe::Communicator& world, Fault fault)
      : Communicator(world.rank, world.size), world_(&world), fault_(fault) {}
  FaultyCard(std::unique_ptr<moe::Communicator> own, Fault fault)
      : Communicator(own->rank, own->size),
        own_(std::move(own)),
        world_(own_.get()),
        fault_(fault) {}

  void run(const moe::collective::Call& what, const moe::CallContext& call) override {
    const auto* exchange = std::get_if<moe::collective::AllToAllV>(&what);
    if (exchange && !exchange->send.empty() && exchange->row_bytes > 8) {
      std::this_thread::sleep_for(std::chrono::duration<double>(fault_.late_s));
    }
    world_->run(what, call);
    if (exchange && fault_.spoils && !exchange->receive.empty()) {
      exchange->to[3] ^= std::byte{0x40};
    }
  }
  std::unique_ptr<moe::Communicator> split(std::span<const int> ranks) override {
    return std::make_unique<FaultyCard>(world_->split(ranks), fault_);
  }

 private:
  std::unique_ptr<moe::Communicator> own_;
  moe::Communicator* world_;
  Fault fault_;
};

std::vector<moe::RankInfo> ranks_on(const std::vector<int>& nodes) {
  std::vector<moe::RankInfo> ranks;
  for (const int node : nodes) {
    moe::RankInfo& rank = ranks.emplace_back();
    rank.hostname = "n" + std::to_string(node);
    rank.node = node;
  }
  return ranks;
}

struct Found {
  std::vector<Result> results;
  std::vector<std::string> lines, findings;
};

/// What rank 0 is told where ranks are on these nodes.
Found measured(const std::vector<int>& nodes, const std::function<Fault(int rank)>& fault,
               const Sampling& sampling) {
  Found found;
  moe::run_local_ranks(static_cast<int>(nodes.size()), [&](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    FaultyCard cards(world, fault(world.rank));
    Bench bench{world, cards, *backend, moe::DType::f32, "cpu", {}};
    bench.ranks = ranks_on(nodes);
    bench.sampling = sampling;
    Found of_rank;
    const Reports reports{[&](const Result& row) { of_rank.results.push_back(row); },
                          [&](const std::string& line) { of_rank.lines.push_back(line); },
                          [&](const std::string& text) { of_rank.findings.push_back(text); }};
    measure_pairs(bench, pair_players(bench.ranks, "nodes"), {4096}, reports);
    if (world.rank == 0) found = of_rank;
  });
  return found;
}

/// The same with one rank per node.
Found measured(int ranks, int spoiled_rank, int iterations) {
  std::vector<int> nodes(ranks);
  std::iota(nodes.begin(), nodes.end(), 0);
  return measured(nodes, [&](int rank) { return Fault{.spoils = rank == spoiled_rank}; },
                  {.shortest_sample_s = 1e-4, .iterations = iterations, .budget_s = 0.02});
}

TEST(Pairs, EveryPairAndDirectionHasARowForEachSize) {
  for (const int ranks : {2, 3, 4}) {
    const Found found = measured(ranks, -1, 3);
    EXPECT_EQ(static_cast<int>(found.results.size()), 2 * ranks * (ranks - 1));
    std::set<std::string> cases;
    for (const Result& row : found.results) {
      const db::Measurement& m = row.measurement;
      const auto parameters = nlohmann::json::parse(m.parameters_json);
      EXPECT_EQ(m.op, "ping_pong");
      EXPECT_EQ(m.samples, 3);
      EXPECT_EQ(m.wrong, 0);
      EXPECT_GT(m.time_s, 0);
      EXPECT_EQ(row.quantiles.size(), 3U);
      EXPECT_EQ(parameters["from_host"], "n" + std::to_string(parameters["from"].get<int>()));
      EXPECT_NE(parameters["from"], parameters["to"]);
      cases.insert(m.parameters_json + std::to_string(m.bytes));
    }
    EXPECT_EQ(cases.size(), found.results.size()) << "a pair was measured twice";
    EXPECT_THAT(found.lines, Contains(HasSubstr("ping_pong of 4096 bytes, GB/s")));
    EXPECT_THAT(found.lines, Contains(HasSubstr("ping_pong of 8 bytes, us")));
  }
}

TEST(Pairs, WhatArrivesWrongIsCountedWithThePairAndTheSize) {
  for (const Result& row : measured(3, 1, 1).results) {
    const db::Measurement& m = row.measurement;
    const bool spoiled = nlohmann::json::parse(m.parameters_json)["to"] == 1;
    EXPECT_EQ(m.wrong, spoiled ? 1 : 0) << m.bytes << " " << m.parameters_json;
  }
}

// A round of 2 directions, each of 13 messages, lasts longer than the limit: by its samples, or its warm-up.
TEST(Pairs, RanksThatRestWaitForARoundThatLastsLongerThanTheTimeLimit) {
  for (const Sampling& sampling : {Sampling{.warm_up = 1, .iterations = 12, .time_limit_s = 1},
                                   Sampling{.warm_up = 12, .iterations = 1, .time_limit_s = 1}}) {
    const Found found = measured(
        {0, 0, 1}, [](int) { return Fault{.late_s = 0.06}; }, sampling);
    EXPECT_EQ(found.results.size(), 4U);
  }
}

TEST(Pairs, PlayersAreNodesWhereThereAreSeveral) {
  const auto two_nodes = ranks_on({0, 0, 1, 1}), one_node = ranks_on({0, 0});
  EXPECT_THAT(pair_players(two_nodes, "").ranks, ElementsAre(0, 2));
  EXPECT_THAT(pair_players(two_nodes, "").names, ElementsAre("n0", "n1"));
  EXPECT_THAT(pair_players(two_nodes, "ranks").names, ElementsAre("n0:0", "n0:1", "n1:2", "n1:3"));
  EXPECT_THAT(pair_players(one_node, "").names, ElementsAre("rank 0", "rank 1"));
  EXPECT_THROW(pair_players(one_node, "nodes"), moe::InputError);
  EXPECT_THROW(pair_players(ranks_on({0}), ""), moe::InputError);
}

}  // namespace
}  // namespace microbench::pairs_test
