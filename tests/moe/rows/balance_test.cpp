#include "moe/rows/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "moe/rows/layout.h"
#include "moe/rows/row_layout.h"

namespace moe::balance_test {
namespace {

using Tokens = std::vector<std::int64_t>;

// Four ranks; experts get 10, 20, 30, 0 tokens.
LayerRouting routing() { return {3, 4, {{1, 2, 3, 0}, {2, 4, 6, 0}, {3, 6, 9, 0}, {4, 8, 12, 0}}}; }

TEST(Balance, OfExpertsWorkedByHand) {
  const db::Balance row = balance_of(routing(), make_groups(4, 4), {});
  EXPECT_EQ(row.layer, 3);
  EXPECT_EQ(row.experts, 4);
  EXPECT_EQ(row.tokens, 60);
  EXPECT_EQ(row.max_tokens, 30);
  EXPECT_EQ(row.unused_experts, 1);
  EXPECT_DOUBLE_EQ(row.standard_deviation, std::sqrt((25.0 + 25 + 225 + 225) / 4));
  EXPECT_EQ(row.locality, std::nullopt);
  EXPECT_EQ(row.dropped_tokens, std::nullopt) << "what gates asked for was not recorded";
}

TEST(Balance, TheLeastEvenLayerIsThatOfAllItsMicroBatches) {
  Routing all{{routing(), {1, 2, {{5, 1}}, 0}, {1, 2, {{1, 5}}, 1}}};
  EXPECT_EQ(worst_max_over_mean(all), 2.0) << "30 of 60 over 4 experts; the other is even";
  all.layers.push_back({7, 8, {{24, 0, 0, 0, 0, 0, 0, 0}}});
  EXPECT_EQ(worst_max_over_mean(all), 8.0);
  EXPECT_EQ(worst_max_over_mean({}), std::nullopt);
}

TEST(Balance, OfRanksIsOfTheTokensWhoseExpertsTheyCompute) {
  EXPECT_EQ(rank_tokens(routing(), make_groups(4, 4)), (Tokens{10, 20, 30, 0}));
  // Two copies of the experts: ranks 0 and 1 send to one, 2 and 3 to the other; two experts a rank.
  EXPECT_EQ(rank_tokens(routing(), make_groups(4, 2)), (Tokens{9, 9, 21, 21}));
  // Every expert on all ranks: everyone keeps its own.
  EXPECT_EQ(rank_tokens(routing(), make_groups(4, 1)), (Tokens{6, 12, 18, 24}));
  // Neighbours share experts: both compute all tokens of theirs.
  EXPECT_EQ(rank_tokens(routing(), make_groups(Layout{1, 2, 2})), (Tokens{30, 30, 30, 30}));
  const db::Balance row = balance_of(routing(), make_groups(4, 2), {});
  EXPECT_EQ(row.max_rank_tokens, 21);
  EXPECT_EQ(row.mean_rank_tokens, 15);
  EXPECT_EQ(row.rank_standard_deviation, 6);
}

TEST(Balance, OfRanksIsWhatTheirRowLayoutsHold) {
  for (const Layout& layout :
       {Layout{1, 4, 1}, Layout{2, 2, 1}, Layout{1, 2, 2}, Layout{2, 1, 2}}) {
    const Groups groups = make_groups(layout);
    const Tokens tokens = rank_tokens(routing(), groups);
    for (int rank = 0; rank < 4; ++rank) {
      const RowLayout rows = make_row_layout(routing(), groups, rank, {{0, 1}, {1, 1}});
      const bool shared = layout.expert_sharded > 1;
      EXPECT_EQ(tokens[static_cast<std::size_t>(rank)],
                shared ? gathered_rows(rows) : received_rows(rows))
          << to_text(layout) << ", rank " << rank;
    }
  }
}

TEST(Balance, OfPlacedExpertsIsOfTheTokensThatRanksCompute) {
  // Expert 2 on ranks 0 and 3 as well: 3 and 12 of its 30 tokens stay there.
  const ExpertPlacement placement{{{2, {0, 3}}}};
  EXPECT_EQ(rank_tokens(routing(), make_groups(4, 4), placement), (Tokens{13, 20, 15, 12}));
  const db::Balance row =
      balance_of(routing(), make_groups(4, 4), {},
                 placed_tokens({{routing()}}, routing().layer, make_groups(4, 4), placement));
  EXPECT_EQ(row.max_rank_tokens, 30) << "where experts belong";
  EXPECT_EQ(row.placed_max_rank_tokens, 20);
  EXPECT_DOUBLE_EQ(row.placed_rank_standard_deviation.value(), std::sqrt((4.0 + 25 + 0 + 9) / 4));
  EXPECT_EQ(balance_of(routing(), make_groups(4, 4), {}).placed_max_rank_tokens, std::nullopt);
  for (const Layout& layout : {Layout{1, 4, 1}, Layout{2, 2, 1}, Layout{1, 2, 2}}) {
    const Groups groups = make_groups(layout);
    const ExpertPlacement spread{{{0, {1}}}, RowsOfOthers::spread};
    const Tokens tokens = rank_tokens(routing(), groups, spread);
    for (int rank = 0; rank < 4; ++rank) {
      const RowLayout rows = make_row_layout(routing(), groups, rank, {{0, 1}, {1, 1}}, {}, spread);
      EXPECT_EQ(tokens[static_cast<std::size_t>(rank)],
                layout.expert_sharded > 1 ? gathered_rows(rows) : received_rows(rows));
    }
  }
}

TEST(Balance, OfExpertsAtOtherHomesIsOfTheTokensThatRanksCompute) {
  const ExpertPlacement placement{{}, RowsOfOthers::home, {1, 0, 0, 1}};
  for (const Layout& layout : {Layout{2, 2, 1}, Layout{1, 2, 2}}) {
    const Groups groups = make_groups(layout);
    const Tokens tokens = rank_tokens(routing(), groups, placement);
    EXPECT_NE(tokens, rank_tokens(routing(), groups));
    for (int rank = 0; rank < 4; ++rank) {
      const RowLayout rows =
          make_row_layout(routing(), groups, rank, {{0, 1}, {1, 1}}, {}, placement);
      EXPECT_EQ(tokens[static_cast<std::size_t>(rank)],
                layout.expert_sharded > 1 ? gathered_rows(rows) : received_rows(rows));
    }
    const db::Balance row = balance_of(
        routing(), groups, {}, placed_tokens({{routing()}}, routing().layer, groups, placement));
    EXPECT_EQ(row.placed_max_rank_tokens, *std::max_element(tokens.begin(), tokens.end()));
    EXPECT_EQ(row.max_rank_tokens, balance_of(routing(), groups, {}).max_rank_tokens) << "in order";
  }
}

TEST(Balance, DroppedIsWhatWasAskedForAndDidNotTravel) {
  LayerRouting layer = routing();
  layer.asked = layer.tokens;
  EXPECT_EQ(balance_of(layer, make_groups(4, 4), {}).dropped_tokens, 0);
  layer.asked[2][1] += 5;
  layer.asked[0][3] += 2;
  const db::Balance row = balance_of(layer, make_groups(4, 4), {});
  EXPECT_EQ(row.dropped_tokens, 7);
  std::int64_t most = 0;
  for (std::size_t expert = 0; expert < 4; ++expert) {
    std::int64_t sum = 0;
    for (const auto& of_rank : layer.asked) sum += of_rank[expert];
    most = std::max(most, sum);
  }
  EXPECT_EQ(row.max_asked_tokens, most) << "of all source ranks";
}

// 40 of 64 copies ask for an expert of four that has room for 16.
TEST(Balance, WhatGatesAskedForIsAsUnevenAsItWasBeforeDrops) {
  const LayerRouting capped{1, 4, {{16, 8, 8, 8}}, 0, {{40, 8, 8, 8}}};
  EXPECT_EQ(worst_max_over_mean({{capped}}), 2.5);
  EXPECT_EQ(asked_expert_tokens(capped), (Tokens{40, 8, 8, 8}));
  EXPECT_EQ(asked_expert_tokens(routing()), expert_tokens(routing()));
  EXPECT_DOUBLE_EQ(balance_of(capped, make_groups(1, 1), Tokens{8, 40, 8, 8}).locality.value(),
                   (2 * 320.0 + 128) / (1600 + 3 * 64))
      << "not alike, though drops make both even";
}

TEST(Balance, LocalityIsTheCosineOfTheExpertsTokens) {
  EXPECT_DOUBLE_EQ(cosine_similarity(Tokens{3, 4}, Tokens{4, 3}).value(), 24.0 / 25);
  EXPECT_DOUBLE_EQ(cosine_similarity(Tokens{3, 4}, Tokens{6, 8}).value(), 1);
  EXPECT_EQ(cosine_similarity(Tokens{3, 0}, Tokens{0, 8}).value(), 0);
  EXPECT_EQ(cosine_similarity(Tokens{3, 4}, Tokens{0, 0}), std::nullopt);
  EXPECT_EQ(cosine_similarity(Tokens{3, 4}, {}), std::nullopt) << "no iteration before";
  EXPECT_DOUBLE_EQ(balance_of(routing(), make_groups(4, 4), Tokens{20, 10, 30, 0}).locality.value(),
                   (200.0 + 200 + 900) / 1400);
}

TEST(Balance, ALayerWithoutTokensHasNone) {
  const LayerRouting none{0, 2, {{0, 0}, {0, 0}}};
  const db::Balance row = balance_of(none, make_groups(2, 2), Tokens{1, 1});
  EXPECT_EQ(row.tokens, 0);
  EXPECT_EQ(row.unused_experts, 2);
  EXPECT_EQ(row.locality, std::nullopt);
}

}  // namespace
}  // namespace moe::balance_test
