#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <map>
#include <random>
#include <tuple>

#include "moe/program/timeline.h"
#include "tests/tuner/small_program.h"
#include "tuner/simulate/lower_bound.h"
#include "tuner/simulate/simulate.h"

/// Dispatches on nodes of every shape that a cluster's file can tell, beside times that are counted
/// here, from a table of who sends what to whom and a list of links.
namespace tuner::node_shape_test {
namespace {

using namespace test;

constexpr double kRowBytes = 4.0 * kColumns;

/// What the file says.
struct Shape {
  int nodes = 1, ranks_per_node = 1, cards_per_node = 1;
  bool shared = false, mesh = false;
  double card_gbit_per_s = 1, rank_gbit_per_s = 1;
  double inter_latency_s = 0, intra_latency_s = 0;

  int ranks() const { return nodes * ranks_per_node; }
};

Shape drawn_shape(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + random() % from.size());
  };
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Shape shape;
  shape.nodes = pick({1, 2, 3});
  shape.ranks_per_node = shape.nodes == 1 ? pick({2, 4}) : pick({1, 2, 4});
  shape.cards_per_node = pick({1, 2, 4, 8});
  shape.shared = random() % 2;
  shape.mesh = random() % 2;
  shape.card_gbit_per_s = between(0.1, 2);
  shape.rank_gbit_per_s = between(0.1, 20);
  shape.inter_latency_s = between(0, 1e-2);
  shape.intra_latency_s = between(0, 1e-2);
  return shape;
}

Cluster load(const Shape& shape) {
  const std::string path = testing::TempDir() + "node_shape" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << std::setprecision(17) << "device = \"cpu\"\nnodes = " << shape.nodes
                      << "\nranks_per_node = " << shape.ranks_per_node
                      << "\n[inter_node]\nbandwidth_gbit_per_s = " << shape.card_gbit_per_s
                      << "\nlatency_s = " << shape.inter_latency_s
                      << "\ncards_per_node = " << shape.cards_per_node << "\ncard = \""
                      << (shape.shared ? "shared" : "own")
                      << "\"\n[intra_node]\nbandwidth_gbit_per_s = " << shape.rank_gbit_per_s
                      << "\nlatency_s = " << shape.intra_latency_s << "\nwiring = \""
                      << (shape.mesh ? "mesh" : "switch") << "\"\n";
  return load_cluster(path).cluster;
}

using Rows = std::vector<std::vector<std::int64_t>>;  ///< [from][to]

/// The cards of its node by which a rank's bytes go, each with as many of them.
std::vector<int> cards_of(const Shape& shape, int rank) {
  const int cards = shape.cards_per_node, ranks = shape.ranks_per_node;
  const int first_card = rank / ranks * cards, in_node = rank % ranks;
  std::vector<int> used;
  for (int card = 0; card < cards; ++card) {
    const bool is_own =
        cards < ranks ? card == in_node * cards / ranks : card * ranks / cards == in_node;
    if (shape.shared || is_own) used.push_back(first_card + card);
  }
  return used;
}

/// The time of the busiest of all links.
double busiest_s(const Shape& shape, const Rows& rows) {
  enum Kind { card_out, card_in, rank_out, rank_in, pair };
  std::map<std::tuple<Kind, int, int>, double> seconds;
  const double card = shape.card_gbit_per_s * 1e9 / 8, rank = shape.rank_gbit_per_s * 1e9 / 8;
  bool crosses = false;
  for (int from = 0; from < shape.ranks(); ++from) {
    for (int to = 0; to < shape.ranks(); ++to) {
      const double bytes = kRowBytes * static_cast<double>(rows[from][to]);
      if (from == to || bytes == 0) continue;
      if (from / shape.ranks_per_node == to / shape.ranks_per_node) {
        seconds[{rank_out, from, 0}] += bytes / rank;
        seconds[{rank_in, to, 0}] += bytes / rank;
        if (shape.mesh) seconds[{pair, from, to}] += bytes / (rank / (shape.ranks_per_node - 1));
        continue;
      }
      crosses = true;
      for (const auto& [kind, end] : {std::pair{card_out, from}, std::pair{card_in, to}}) {
        const std::vector<int> used = cards_of(shape, end);
        for (const int one : used) {
          seconds[{kind, one, 0}] += bytes / card / static_cast<double>(used.size());
        }
      }
    }
  }
  double most = 0;
  for (const auto& [link, s] : seconds) most = std::max(most, s);
  return most + (crosses ? shape.inter_latency_s : shape.intra_latency_s);
}

/// Every rank has one expert. Nobody comes late to the dispatch.
struct Dispatch {
  SmallLayer layer = small_layer();
  Cluster cluster;
  moe::Groups groups;
  moe::Routing routing;
  CostModel costs = small_costs();
  int op = 3;

  Dispatch(const Shape& shape, const Rows& rows) : cluster(load(shape)) {
    groups = groups_of(cluster, {1, shape.ranks()});
    routing = {{moe::LayerRouting{0, shape.ranks(), rows}}};
    layer.program.ops.resize(static_cast<std::size_t>(op) + 1);
  }
  double alone_s() const {
    const ProgramCosts all = program_costs(layer.program, groups, routing, costs, cluster);
    return alone_seconds(all.ops[static_cast<std::size_t>(op)], all.classes.groups, cluster);
  }
  moe::Timeline timeline(const Folding& folding = {}) const {
    return simulate(layer.program,
                    program_costs(layer.program, groups, routing, costs, cluster, folding), costs,
                    cluster);
  }
  double bound_s() const {
    return lower_bound(layer.program, groups, routing, costs, cluster).seconds();
  }
};

double end_of(const moe::Timeline& timeline) {
  double end_s = 0;
  for (const auto& spans : timeline.ranks) {
    for (const moe::OpSpan& span : spans) end_s = std::max(end_s, span.start_s + span.duration_s);
  }
  return end_s;
}

/// From when the last rank came until the last went on.
double seconds_of_op(const moe::Timeline& timeline, int op) {
  double came_s = 0, ended_s = 0;
  for (const auto& spans : timeline.ranks) {
    for (const moe::OpSpan& span : spans) {
      if (span.op != op) continue;
      came_s = std::max(came_s, span.start_s);
      ended_s = std::max(ended_s, span.start_s + span.duration_s);
    }
  }
  return ended_s - came_s;
}

std::string said(const Shape& s) {
  return std::to_string(s.nodes) + "x" + std::to_string(s.ranks_per_node) + ", " +
         std::to_string(s.cards_per_node) + (s.shared ? " shared" : " own") + " cards" +
         (s.mesh ? ", mesh" : ", switch");
}

constexpr unsigned kShapes = 300;
/// Flows that end at almost the same time end together (simulate.h).
constexpr double kTogether = 2e-4;

TEST(NodeShape, ADispatchTakesWhatItsBusiestLinkNeedsAndNoSimulationIsFaster) {
  for (unsigned seed = 0; seed < kShapes; ++seed) {
    std::mt19937 random(seed);
    const Shape shape = drawn_shape(random);
    const auto n = static_cast<std::size_t>(shape.ranks());
    Rows rows(n, std::vector<std::int64_t>(n));
    for (auto& row : rows) {
      for (std::int64_t& one : row) one = random() % 3 == 0 ? 0 : 1 + random() % 10'000;
    }
    rows.front().back() = 5000;
    const Dispatch dispatch(shape, rows);
    const double expected_s = busiest_s(shape, rows);
    EXPECT_NEAR(dispatch.alone_s(), expected_s, 1e-9 * expected_s) << seed << ": " << said(shape);
    const moe::Timeline timeline = dispatch.timeline();
    EXPECT_GE(seconds_of_op(timeline, dispatch.op), expected_s * (1 - kTogether))
        << seed << ": " << said(shape);
    EXPECT_LE(dispatch.bound_s(), end_of(timeline) * (1 + 1e-9)) << seed << ": " << said(shape);
  }
}

TEST(NodeShape, AnEvenDispatchAndOneToASingleExpertAreSimulatedAtThatTime) {
  for (unsigned seed = 0; seed < kShapes; ++seed) {
    std::mt19937 random(seed);
    const Shape shape = drawn_shape(random);
    const auto n = static_cast<std::size_t>(shape.ranks());
    const std::size_t hot = random() % n;
    for (const bool even : {true, false}) {
      Rows rows(n, std::vector<std::int64_t>(n));
      for (auto& row : rows) {
        for (std::size_t to = 0; to < n; ++to) row[to] = even || to == hot ? 3000 : 0;
      }
      const Dispatch dispatch(shape, rows);
      const double expected_s = busiest_s(shape, rows);
      for (const Folding& folding : {Folding{}, Folding{1 << 20, 0, 1 << 20}, Folding{0, 0, 0}}) {
        EXPECT_NEAR(seconds_of_op(dispatch.timeline(folding), dispatch.op), expected_s,
                    kTogether * expected_s)
            << seed << ": " << said(shape) << (even ? ", even" : ", hot");
      }
    }
  }
}

}  // namespace
}  // namespace tuner::node_shape_test
