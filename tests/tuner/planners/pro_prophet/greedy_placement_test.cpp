#include "tuner/planners/pro_prophet/greedy_placement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "tests/tuner/planners/drawn_rows.h"
#include "tests/tuner/planners/pro_prophet/drawn_costs.h"
#include "tuner/planners/placement/transfer_loads.h"
#include "tuner/planners/pro_prophet/replicated_loads.h"

namespace tuner::greedy_placement_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Everything costs 1 a row; an expert that leaves or enters a device `expert_s`.
ProProphetCosts plain_layer(int devices, double expert_s = 1) {
  ProProphetCosts costs{{0, 1}, {0, 1}};
  test::set_transfers(costs, {0, 0, expert_s}, {0, 0, expert_s}, 0);
  costs.places.node_of = test::nodes_apart(devices);
  return costs;
}

TEST(GreedyPlacement, OfThreeExpertsWorkedByHand) {
  // 5, 2 and 2 inputs for three experts as in Fig. 6; no input of device 2 is routed to expert 0.
  const moe::Groups groups = moe::make_groups(3, 3);
  const moe::LayerRouting routing{0, 3, {{3, 0, 1}, {2, 1, 1}, {0, 1, 0}}, 0};
  const GreedyPlacement found = greedy_placement(grouped_rows(routing, groups), plain_layer(3), {});
  // At home devices receive 2, 1, 2 and compute 5, 2, 2: 4 * 2 + 3 * 5. With expert 0 at device 1
  // too they receive 0, 1, 2 and compute 3, 4, 2: 4 * 2 + 3 * 4 + 2. With expert 1, before expert 2
  // which has as many, at device 2 they receive 0, 0, 2 and compute 3, 3, 3, which is balanced.
  // Both are on their way at once: 4 * 2 + 3 * 3 + 2.
  EXPECT_DOUBLE_EQ(found.at_home_s, 23);
  EXPECT_DOUBLE_EQ(found.seconds, 19);
  EXPECT_THAT(found.placement.replicas,
              ElementsAre(moe::ReplicatedExpert{0, {1}}, moe::ReplicatedExpert{1, {2}}));
  EXPECT_EQ(found.placement.rows_of_others, moe::RowsOfOthers::home);
}

TEST(GreedyPlacement, LeavesBalancedLoadsAndDearTransfersAlone) {
  const moe::Groups groups = moe::make_groups(2, 2);
  const moe::LayerRouting even{0, 2, {{50, 50}, {50, 50}}, 0};
  EXPECT_THAT(greedy_placement(grouped_rows(even, groups), plain_layer(2), {}).placement.replicas,
              IsEmpty());
  const moe::LayerRouting skewed{0, 2, {{50, 0}, {50, 0}}, 0};
  ProProphetCosts costs = plain_layer(2);
  EXPECT_FALSE(
      greedy_placement(grouped_rows(skewed, groups), costs, {}).placement.replicas.empty());
  costs = plain_layer(2, 1000);
  EXPECT_THAT(greedy_placement(grouped_rows(skewed, groups), costs, {}).placement.replicas,
              IsEmpty());
  // Transfers that earlier computation hides cost nothing.
  costs.fnec_s = costs.bnec_s = 1000;
  EXPECT_FALSE(greedy_placement(grouped_rows(skewed, groups), costs, {Transfers::overlapped})
                   .placement.replicas.empty());
  // Far from balanced is good enough for a large a.
  EXPECT_THAT(
      greedy_placement(grouped_rows(skewed, groups), plain_layer(2), {Transfers::blocking, 2.5, {}})
          .placement.replicas,
      IsEmpty());
}

TEST(GreedyPlacement, LeavesOutAsManyDevicesAsItIsTold) {
  std::mt19937 random(4);
  const moe::Groups groups = moe::make_groups(4, 4);
  const auto routing = test::draw_rows(random, 4, 8);
  const GroupedRows rows = grouped_rows(routing, groups);
  const ProProphetCosts costs = plain_layer(4, 0);
  for (int left_out = 0; left_out < 4; ++left_out) {
    const auto found = greedy_placement(rows, costs, {Transfers::blocking, 0, left_out});
    for (const auto& replica : found.placement.replicas) {
      EXPECT_LE(replica.holders.size(), static_cast<std::size_t>(3 - left_out));
    }
    EXPECT_EQ(found.placement.replicas.empty(), left_out == 3);
  }
  EXPECT_THROW(greedy_placement(rows, costs, {Transfers::blocking, 0.1, 4}), std::invalid_argument);
  EXPECT_THROW(greedy_placement(rows, costs, {Transfers::blocking, 0.1, -1}),
               std::invalid_argument);
}

struct DrawnLayer {
  moe::Groups groups;
  moe::LayerRouting routing;
  GroupedRows rows;
  ProProphetCosts costs;
};

DrawnLayer draw_layer(std::mt19937& random, int most_devices, int most_experts) {
  const int devices = 2 + static_cast<int>(random() % static_cast<unsigned>(most_devices - 1));
  const int each = std::max(1, most_experts / devices);
  const int experts = devices * (1 + static_cast<int>(random() % static_cast<unsigned>(each)));
  DrawnLayer layer;
  layer.groups = moe::make_groups(devices, devices);
  layer.routing = test::draw_rows(random, devices, experts);
  layer.rows = grouped_rows(layer.routing, layer.groups);
  layer.costs = test::draw_costs(random, devices);
  return layer;
}

/// Algorithm 1 word for word: every placement from scratch, and no end but balance.
double word_for_word_s(const DrawnLayer& layer, const GreedyOptions& options, int left_out) {
  std::vector<int> order(static_cast<std::size_t>(layer.routing.experts));
  std::iota(order.begin(), order.end(), 0);
  const auto totals = rows_by_expert(layer.rows);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return totals[static_cast<std::size_t>(a)] > totals[static_cast<std::size_t>(b)];
  });
  const auto inputs = std::accumulate(totals.begin(), totals.end(), std::int64_t{0});
  moe::ExpertPlacement placement;
  double best_s = placed_layer_s(layer.routing, layer.groups, {}, layer.costs, options.transfers);
  for (const int expert : order) {
    const auto computed = placed_loads(layer.routing, layer.groups, placement).computed;
    const auto away = std::ranges::max(computed) - std::ranges::min(computed);
    if (static_cast<double>(away) <
        options.balance * static_cast<double>(inputs) / layer.routing.experts) {
      break;
    }
    const auto of_member = rows_by_member(layer.rows, expert);
    const int home = layer.rows.homes[static_cast<std::size_t>(expert)];
    std::vector<int> devices(of_member.size());
    std::iota(devices.begin(), devices.end(), 0);
    std::erase_if(devices, [&](int device) {
      return device == home || of_member[static_cast<std::size_t>(device)] == 0;
    });
    std::stable_sort(devices.begin(), devices.end(), [&](int a, int b) {
      return of_member[static_cast<std::size_t>(a)] > of_member[static_cast<std::size_t>(b)];
    });
    devices.resize(
        std::min(devices.size(), static_cast<std::size_t>(layer.rows.members - 1 - left_out)));
    if (devices.empty()) continue;
    std::sort(devices.begin(), devices.end());
    placement.replicas.push_back({expert, devices});
    std::sort(placement.replicas.begin(), placement.replicas.end());
    placement.route = cheapest_route(layer.costs, placement, layer.rows.homes);
    best_s = std::min(best_s, placed_layer_s(layer.routing, layer.groups, placement, layer.costs,
                                             options.transfers));
  }
  return best_s;
}

TEST(GreedyPlacement, FindsWhatAlgorithmOneFindsWordForWord) {
  std::mt19937 random(5);
  int moved = 0;
  for (int i = 0; i < 300; ++i) {
    const DrawnLayer layer = draw_layer(random, 6, 12);
    GreedyOptions options;
    if (random() % 2 == 0) options.transfers = Transfers::overlapped;
    const GreedyPlacement found = greedy_placement(layer.rows, layer.costs, options);
    // 1, 2, 4, ... receivers, and all.
    double best_s = found.at_home_s;
    for (int receivers = 1; receivers < layer.rows.members; ++receivers) {
      const bool tried = (receivers & (receivers - 1)) == 0 || receivers == layer.rows.members - 1;
      if (!tried) continue;
      const int left_out = layer.rows.members - 1 - receivers;
      best_s = std::min(best_s, word_for_word_s(layer, options, left_out));
    }
    EXPECT_NEAR(found.seconds, best_s, 1e-9 * best_s);
    EXPECT_DOUBLE_EQ(placed_layer_s(layer.routing, layer.groups, found.placement, layer.costs,
                                    options.transfers),
                     found.seconds);
    EXPECT_LE(found.seconds, found.at_home_s);
    moved += !found.placement.replicas.empty();
  }
  EXPECT_GT(moved, 100);
}

TEST(GreedyPlacement, ThatKnowsOfOverlapIsNoWorseWithItThanOneThatDoesNot) {
  std::mt19937 random(6);
  int better = 0;
  for (int i = 0; i < 300; ++i) {
    const DrawnLayer layer = draw_layer(random, 6, 12);
    const auto overlapped_s = [&](Transfers searched) {
      return placed_layer_s(layer.routing, layer.groups,
                            greedy_placement(layer.rows, layer.costs, {searched}).placement,
                            layer.costs, Transfers::overlapped);
    };
    const double knowing_s = overlapped_s(Transfers::overlapped);
    const double not_knowing_s = overlapped_s(Transfers::blocking);
    EXPECT_LE(knowing_s, not_knowing_s * (1 + 1e-12));
    better += knowing_s < not_knowing_s * (1 - 1e-9);
  }
  EXPECT_GT(better, 30);
}

TEST(GreedyPlacement, ThatGivesEachExpertItsOwnDevicesIsNeverWorse) {
  std::mt19937 random(8);
  int better = 0;
  for (int i = 0; i < 300; ++i) {
    DrawnLayer layer = draw_layer(random, 6, 12);
    layer.costs.beside = {layer.costs.fnec_s, layer.costs.bnec_s, 0.9};
    GreedyOptions options{.transfers = static_cast<Transfers>(random() % 3)};
    const GreedyPlacement alike = greedy_placement(layer.rows, layer.costs, options);
    options.each_apart = true;
    const GreedyPlacement apart = greedy_placement(layer.rows, layer.costs, options);
    EXPECT_LE(apart.seconds, alike.seconds);
    EXPECT_NEAR(placed_layer_s(layer.routing, layer.groups, apart.placement, layer.costs,
                               options.transfers),
                apart.seconds, 1e-9 * apart.seconds);
    better += apart.seconds < alike.seconds * (1 - 1e-9);
  }
  EXPECT_GT(better, 30);
}

TEST(GreedyPlacement, AsReleasedSendsExpertsToAllOrAllButOne) {
  const moe::Groups groups = moe::make_groups(3, 3);
  const GreedyOptions released{.balance = 0, .to_all = true};
  const auto placed = [&](const moe::LayerRouting& routing) {
    return greedy_placement(grouped_rows(routing, groups), plain_layer(3, 0), released).placement;
  };
  // Device 2 has no input for expert 0, and gets it all the same; expert 1 has inputs everywhere.
  EXPECT_EQ(placed({0, 3, {{3, 1, 1}, {2, 1, 1}, {0, 1, 0}}, 0}).replicas.front(),
            (moe::ReplicatedExpert{0, {1, 2}}));
  // Each expert has a device without inputs: the one with fewest is left out.
  EXPECT_EQ(placed({0, 3, {{3, 0, 1}, {2, 1, 1}, {0, 1, 0}}, 0}).replicas.front(),
            (moe::ReplicatedExpert{0, {1}}));
}

TEST(GreedyPlacement, MindsTheBusiestOfSeveralCopies) {
  // Expert 0 has most inputs in the first copy of the experts, few in the second.
  const moe::Groups groups = moe::make_groups(4, 2);
  const moe::LayerRouting routing{0, 2, {{60, 0}, {40, 0}, {1, 9}, {1, 9}}, 0};
  const auto found = greedy_placement(grouped_rows(routing, groups), plain_layer(2), {});
  EXPECT_DOUBLE_EQ(found.at_home_s, 4 * 40 + 3 * 100);
  // Expert 0 at both: 60 and 40 in the first copy, 1 and 19 in the second, whose device 1 receives
  // 9. That goes with expert 1 at both.
  EXPECT_THAT(found.placement.replicas,
              ElementsAre(moe::ReplicatedExpert{0, {1}}, moe::ReplicatedExpert{1, {0}}));
  EXPECT_DOUBLE_EQ(found.seconds, 3 * 60 + 2);
}

/// The best of all placements, by trying each.
double least_of_all_s(const DrawnLayer& layer, const ReplicatedLoads& loads, int expert,
                      const std::array<TransferLoads, moe::kExpertRoutes>& sent) {
  if (expert == layer.rows.experts) {
    const ReplicatedLoads::Extremes most = loads.extremes();
    double least_s = std::numeric_limits<double>::infinity();
    for (std::size_t route = 0; route < sent.size(); ++route) {
      const RouteCost& cost = layer.costs.routes[route];
      least_s = std::min(
          least_s,
          blocking_layer_s({all_to_all_s(layer.costs, most.most_received),
                            forward_experts_s(layer.costs, most.most_computed),
                            sent[route].seconds(cost.trans), sent[route].seconds(cost.agg)}));
    }
    return least_s;
  }
  const int home = layer.rows.homes[static_cast<std::size_t>(expert)];
  double least_s = least_of_all_s(layer, loads, expert + 1, sent);
  for (unsigned set = 1; set < 1u << layer.rows.members; ++set) {
    if ((set >> home & 1u) != 0) continue;
    std::vector<int> holders;
    for (int member = 0; member < layer.rows.members; ++member) {
      if ((set >> member & 1u) != 0) holders.push_back(member);
    }
    ReplicatedLoads with = loads;
    with.take(expert, holders);
    auto sent_too = sent;
    for (TransferLoads& by_route : sent_too) by_route.send(home, holders);
    least_s = std::min(least_s, least_of_all_s(layer, with, expert + 1, sent_too));
  }
  return least_s;
}

TEST(GreedyPlacement, IsNearTheBestOfAllPlacementsOfSmallLayers) {
  std::mt19937 random(7);
  double gained = 0, gainable = 0, worst = 0, ratios = 0;
  int best = 0;
  constexpr int layers = 300;
  for (int i = 0; i < layers; ++i) {
    const DrawnLayer layer = draw_layer(random, 4, 4);
    const GreedyPlacement found = greedy_placement(layer.rows, layer.costs, {});
    const double optimum_s =
        least_of_all_s(layer, ReplicatedLoads(layer.rows), 0,
                       {TransferLoads(layer.costs.places, moe::ExpertRoute::unicast),
                        TransferLoads(layer.costs.places, moe::ExpertRoute::ring)});
    EXPECT_GE(found.seconds, optimum_s * (1 - 1e-12));
    const double ratio = found.seconds / optimum_s;
    best += ratio < 1 + 1e-9;
    ratios += ratio;
    worst = std::max(worst, ratio);
    gained += found.at_home_s / optimum_s - ratio;
    gainable += found.at_home_s / optimum_s - 1;
  }
  const std::string summary = fmt::format(
      "of {} layers of at most 4 experts on 4 devices the best for {}; on average {:.2f}%, at most "
      "{:.1f}% above it; {:.0f}% of what placements can gain",
      layers, best, 100 * (ratios / layers - 1), 100 * (worst - 1), 100 * gained / gainable);
  RecordProperty("summary", summary);
  fmt::print("{}\n", summary);
  EXPECT_LT(ratios / layers, 1.03) << summary;
  EXPECT_LT(worst, 1.35) << summary;
  EXPECT_GT(gained / gainable, 0.95) << summary;
}

}  // namespace
}  // namespace tuner::greedy_placement_test
