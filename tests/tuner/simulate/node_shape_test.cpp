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

/// A level above the nodes.
struct Blocks {
  int nodes = 1;
  bool rails = false;
  double gbit_per_s = 1, latency_s = 0;
};

/// What the file says.
struct Shape {
  int nodes = 1, ranks_per_node = 1, cards_per_node = 1;
  std::string card = "own";
  bool mesh = false;
  double card_gbit_per_s = 1, rank_gbit_per_s = 1;
  double inter_latency_s = 0, intra_latency_s = 0;
  std::vector<Blocks> levels = {};

  int ranks() const { return nodes * ranks_per_node; }
  int cards_in_use() const { return std::min(cards_per_node, ranks_per_node); }
  /// The place of a rank's card.
  int rail(int rank) const { return rank % ranks_per_node * cards_in_use() / ranks_per_node; }
};

Shape drawn_shape(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() + random() % from.size());
  };
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Shape shape;
  shape.nodes = pick({1, 2, 3, 4});
  shape.ranks_per_node = shape.nodes == 1 ? pick({2, 4}) : pick({1, 2, 4});
  shape.cards_per_node = pick({1, 2, 4, 8});
  const bool several = shape.cards_in_use() > 1;
  const unsigned use = random() % (several ? 3 : 2);
  shape.card = use == 0 ? "own" : use == 1 ? "shared" : "receiver";
  shape.mesh = random() % 2;
  shape.card_gbit_per_s = between(0.1, 2);
  shape.rank_gbit_per_s = between(0.1, 20);
  shape.inter_latency_s = between(0, 1e-2);
  shape.intra_latency_s = between(0, 1e-2);
  const auto add_level = [&](int nodes, bool rails) {
    const bool divides = shape.nodes % nodes == 0;
    if (shape.nodes == 1 || !divides || (!rails && nodes == shape.nodes) || random() % 2) return;
    shape.levels.push_back({nodes, rails, between(0.1, 4), between(0, 1e-2)});
  };
  const bool has_rails = several && shape.card != "shared";
  switch (random() % (has_rails ? 3 : 1)) {
    case 0:
      add_level(1, false);
      add_level(2, false);
      break;
    case 1:
      if (shape.nodes > 2) add_level(2, true);
      add_level(2, false);
      break;
    default:
      if (shape.nodes > 2) add_level(2, true);
      add_level(shape.nodes, true);
  }
  return shape;
}

Cluster load(const Shape& shape) {
  const std::string path = testing::TempDir() + "node_shape" + std::to_string(getpid()) + ".toml";
  std::ofstream file(path);
  file << std::setprecision(17) << "device = \"cpu\"\nnodes = " << shape.nodes
       << "\nranks_per_node = " << shape.ranks_per_node
       << "\n[inter_node]\nbandwidth_gbit_per_s = " << shape.card_gbit_per_s
       << "\nlatency_s = " << shape.inter_latency_s << "\ncards_per_node = " << shape.cards_per_node
       << "\ncard = \"" << shape.card
       << "\"\n[intra_node]\nbandwidth_gbit_per_s = " << shape.rank_gbit_per_s
       << "\nlatency_s = " << shape.intra_latency_s << "\nwiring = \""
       << (shape.mesh ? "mesh" : "switch") << "\"\n";
  for (const Blocks& level : shape.levels) {
    file << "[[level]]\nname = \"blocks\"\nnodes = " << level.nodes
         << "\nrails = " << (level.rails ? "true" : "false")
         << "\nbandwidth_gbit_per_s = " << level.gbit_per_s << "\nlatency_s = " << level.latency_s
         << "\n";
  }
  file.close();
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
    if (shape.card == "shared" || is_own) used.push_back(first_card + card);
  }
  return used;
}

/// The time of the busiest of all links.
double busiest_s(const Shape& shape, const Rows& rows) {
  enum Kind { card_out, card_in, rank_out, rank_in, pair, block_out, block_in };
  std::map<std::tuple<Kind, int, int>, double> seconds;
  const double card = shape.card_gbit_per_s * 1e9 / 8, rank = shape.rank_gbit_per_s * 1e9 / 8;
  const auto within = [&](int from, int to, double bytes) {
    seconds[{rank_out, from, 0}] += bytes / rank;
    seconds[{rank_in, to, 0}] += bytes / rank;
    if (shape.mesh) seconds[{pair, from, to}] += bytes / (rank / (shape.ranks_per_node - 1));
  };
  const auto by_cards = [&](Kind kind, int end, double bytes) {
    const std::vector<int> used = cards_of(shape, end);
    for (const int one : used) {
      seconds[{kind, one, 0}] += bytes / card / static_cast<double>(used.size());
    }
  };
  bool crosses = false;
  std::vector<double> latency_s(shape.levels.size());
  for (int from = 0; from < shape.ranks(); ++from) {
    for (int to = 0; to < shape.ranks(); ++to) {
      const double bytes = kRowBytes * static_cast<double>(rows[from][to]);
      if (from == to || bytes == 0) continue;
      const int node = from / shape.ranks_per_node, other_node = to / shape.ranks_per_node;
      if (node == other_node) {
        within(from, to, bytes);
        continue;
      }
      crosses = true;
      int sender = from;
      if (shape.card == "receiver" && shape.rail(from) != shape.rail(to)) {
        sender = node * shape.ranks_per_node + to % shape.ranks_per_node;
        within(from, sender, bytes);
      }
      by_cards(card_out, sender, bytes);
      by_cards(card_in, to, bytes);
      for (std::size_t i = 0; i < shape.levels.size(); ++i) {
        const Blocks& level = shape.levels[i];
        const auto block_of = [&](int end, int on) {
          return on / level.nodes * 100 + (level.rails ? shape.rail(end) : 0);
        };
        const int out = block_of(sender, node), in = block_of(to, other_node);
        if (out == in) continue;
        latency_s[i] = level.latency_s;
        const double uplink = level.gbit_per_s * 1e9 / 8;
        seconds[{block_out, static_cast<int>(i), out}] += bytes / uplink;
        seconds[{block_in, static_cast<int>(i), in}] += bytes / uplink;
      }
    }
  }
  double most = 0;
  for (const auto& [link, s] : seconds) most = std::max(most, s);
  for (const double more_s : latency_s) most += more_s;
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
  std::string text = std::to_string(s.nodes) + "x" + std::to_string(s.ranks_per_node) + ", " +
                     std::to_string(s.cards_per_node) + " cards, " + s.card +
                     (s.mesh ? ", mesh" : ", switch");
  for (const Blocks& level : s.levels) {
    text += (level.rails ? ", rails of " : ", blocks of ") + std::to_string(level.nodes);
  }
  return text;
}

constexpr unsigned kShapes = 500;
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

/// 1e6 rows from each rank to each, or to rank 0 alone: 1 s of a card of `kCard`.
constexpr std::int64_t kRows = 1'000'000;
constexpr double kCard = kRowBytes * kRows * 8e-9;  // Gbit/s

Rows even_rows(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return {n, std::vector<std::int64_t>(n, kRows)};
}
Rows hot_rows(int ranks) {
  Rows rows(static_cast<std::size_t>(ranks), std::vector<std::int64_t>(ranks));
  for (auto& row : rows) row[0] = kRows;
  return rows;
}
double simulated_s(const Shape& shape, const Rows& rows) {
  const Dispatch dispatch(shape, rows);
  return seconds_of_op(dispatch.timeline(), dispatch.op);
}

TEST(NodeShape, AnOversubscribedSpineCarriesWhatLeavesARack) {
  // Two racks of two nodes, the uplink a quarter of the cards of a rack.
  Shape shape{4, 1, 1, "own", false, kCard, kCard};
  const Shape flat = shape;
  shape.levels = {{2, false, 2 * kCard / 4, 0.25}};
  EXPECT_NEAR(simulated_s(flat, even_rows(4)), 3, 1e-3) << "a card has three others' rows";
  EXPECT_NEAR(simulated_s(shape, even_rows(4)), 4 / 0.5 + 0.25, 2e-3) << "two times two rows";
  EXPECT_NEAR(simulated_s(flat, hot_rows(4)), 3, 1e-3);
  EXPECT_NEAR(simulated_s(shape, hot_rows(4)), 2 / 0.5 + 0.25, 1e-3) << "two come from afar";
  const Dispatch even(shape, even_rows(4));
  EXPECT_EQ(
      lower_bound(even.layer.program, even.groups, even.routing, even.costs, even.cluster).where,
      "blocks 0 out");
}

TEST(NodeShape, ByTheReceiversCardARankSendsByAllCardsOfItsNode) {
  Shape shape{2, 2, 2, "own", false, kCard, 10 * kCard};
  Rows one_sends(4, std::vector<std::int64_t>(4));
  one_sends[0] = {0, 0, kRows, kRows};
  EXPECT_NEAR(simulated_s(shape, one_sends), 2, 1e-3) << "both by its own card";
  EXPECT_NEAR(simulated_s(shape, hot_rows(4)), 2, 1e-3) << "into the card of the hot expert";
  EXPECT_NEAR(simulated_s(shape, even_rows(4)), 2, 1e-3);
  shape.card = "receiver";
  EXPECT_NEAR(simulated_s(shape, one_sends), 1, 1e-3) << "half of them by the card of rank 1";
  EXPECT_NEAR(simulated_s(shape, hot_rows(4)), 2, 1e-3);
  EXPECT_NEAR(simulated_s(shape, even_rows(4)), 2, 1e-3);
  shape.rank_gbit_per_s = 0.25 * kCard;
  EXPECT_NEAR(simulated_s(shape, one_sends), 4, 1e-3) << "to rank 1 by the link inside the node";
  EXPECT_NEAR(simulated_s(shape, even_rows(4)), 8, 2e-3) << "and beside the rows for rank 1 itself";
}

TEST(NodeShape, ByTheReceiversCardNothingLeavesARail) {
  Shape shape{2, 2, 2, "own", false, kCard, 10 * kCard};
  shape.levels = {{2, true, kCard / 4, 0.5}};
  EXPECT_NEAR(simulated_s(shape, even_rows(4)), 2 * 4 + 0.5, 2e-3)
      << "a card has two, but ranks 0 and 2 send one each into the other rail";
  EXPECT_NEAR(simulated_s(shape, hot_rows(4)), 4 + 0.5, 1e-3) << "rank 3 sends to rank 0";
  shape.card = "receiver";
  EXPECT_NEAR(simulated_s(shape, even_rows(4)), 2, 1e-3);
  EXPECT_NEAR(simulated_s(shape, hot_rows(4)), 2, 1e-3);
}

}  // namespace
}  // namespace tuner::node_shape_test
