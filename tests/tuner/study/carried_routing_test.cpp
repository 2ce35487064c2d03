#include "tuner/study/carried_routing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tuner/scenario/gated_layers.h"

namespace tuner::carried_routing_test {
namespace {

moe::Program program_of(const char* layout, int micro_batches = 1) {
  moe::Model model;
  model.blocks = 2;
  model.moe_every = 1;
  model.global_batch = 16;
  model.micro_batches = micro_batches;
  return moe::build_iteration(model, moe::make_groups(moe::parse_layout(layout, 4)), 0);
}

/// Expert 0 has half of all rows, the others share the rest; ranks differ by `apart` rows.
moe::Routing skewed(const moe::Program& program, std::int64_t apart) {
  moe::Routing routing;
  for (const GatedLayer& gated : gated_layers(program)) {
    moe::LayerRouting layer{gated.at.layer, gated.experts, {}, gated.at.micro_batch};
    for (int rank = 0; rank < moe::stage_ranks(program.groups); ++rank) {
      std::vector<std::int64_t> row(static_cast<std::size_t>(gated.experts),
                                    gated.copies / 2 / (gated.experts - 1));
      row[0] = 0;
      row[1] += rank % 2 == 0 ? apart : -apart;
      row[0] = gated.copies - std::accumulate(row.begin(), row.end(), std::int64_t{0});
      layer.tokens.push_back(std::move(row));
    }
    routing.layers.push_back(std::move(layer));
  }
  return routing;
}

TEST(CarriedRouting, KeepsTheRowsOfEachRankWhereThereAreAsMany) {
  const moe::Program from = program_of("ep=4");
  const moe::Routing recorded = skewed(from, 3),
                     carried = carried_routing(recorded, from, program_of("dp=2,ep=2"));
  ASSERT_EQ(carried.layers.size(), recorded.layers.size());
  for (std::size_t i = 0; i < carried.layers.size(); ++i) {
    EXPECT_EQ(carried.layers[i].tokens, recorded.layers[i].tokens);
  }
}

TEST(CarriedRouting, AddsUpNeighboursWhoseTokensOneRankHas) {
  const moe::Program from = program_of("ep=4"), to = program_of("ep=2,pp=2");
  const moe::Routing recorded = skewed(from, 3), carried = carried_routing(recorded, from, to);
  ASSERT_EQ(carried.layers.size(), recorded.layers.size());
  for (std::size_t i = 0; i < carried.layers.size(); ++i) {
    const auto &before = recorded.layers[i].tokens, &now = carried.layers[i].tokens;
    ASSERT_EQ(now.size(), 2u);
    for (std::size_t e = 0; e < now[1].size(); ++e) {
      EXPECT_EQ(now[1][e], before[2][e] + before[3][e]);
    }
  }
}

TEST(CarriedRouting, KeepsTheSharesOfExpertsInOtherMicroBatches) {
  const moe::Program from = program_of("ep=4"), to = program_of("ep=4", 2);
  const moe::Routing carried = carried_routing(skewed(from, 3), from, to);
  const std::vector<GatedLayer> gated = gated_layers(to);
  ASSERT_EQ(carried.layers.size(), gated.size());
  for (std::size_t i = 0; i < gated.size(); ++i) {
    const moe::LayerRouting& layer = carried.layers[i];
    EXPECT_EQ(layer.layer, gated[i].at.layer);
    EXPECT_EQ(layer.micro_batch, gated[i].at.micro_batch);
    EXPECT_EQ(moe::source_ranks(layer), 4);
    const auto& row = moe::tokens_from(layer, 1);
    EXPECT_GT(row[0], 2 * row[1]);
    EXPECT_LE(std::accumulate(row.begin(), row.end(), std::int64_t{0}), gated[i].copies);
  }
}

}  // namespace
}  // namespace tuner::carried_routing_test
