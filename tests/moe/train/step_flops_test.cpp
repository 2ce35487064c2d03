#include "moe/train/step_flops.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::step_flops_test {
namespace {

/// Every copy of the layer's tokens from every rank to expert 0, or spread over the experts.
Routing routing(const Model& model, int ranks, bool to_one) {
  LayerRouting layer{1, model.experts, {}, 0, {}};
  const std::int64_t copies =
      model.global_batch * model.sequence_length * model.choices / model.experts / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::int64_t> row(static_cast<std::size_t>(model.experts), to_one ? 0 : copies);
    if (to_one) row[0] = copies * model.experts;
    layer.tokens.push_back(row);
  }
  return {{layer}};
}

/// Six FLOPs a token and element of a matrix: a product forward and two backward. Half of the
/// scores of attention are computed, by two products forward and five backward, one of which
/// computes the scores again.
double by_hand(const Model& model, double expert_rows) {
  const auto m = static_cast<double>(model.d_model), h = static_cast<double>(model.d_hidden);
  const auto length = static_cast<double>(model.sequence_length);
  const double tokens = static_cast<double>(model.global_batch) * length;
  const double attention = model.blocks * (4 * m * m + 7 / 6.0 * length * m);
  const double dense = 2 * m * h, gate = m * model.experts;
  const double head = m * static_cast<double>(model.vocabulary);
  return 6 * tokens * (attention + dense + gate + head) + 6 * expert_rows * 2 * m * h;
}

TEST(StepFlops, AreTheProductsOfForwardAndBackward) {
  Model model = test::small_model(DType::f32);
  const double copies =
      static_cast<double>(model.global_batch * model.sequence_length * model.choices);
  // Of 7 experts the last of 2 ranks has one less than the first.
  const std::vector<std::pair<int, int>> sizes{{28, 1}, {28, 2}, {28, 4}, {7, 2}, {7, 4}};
  for (const auto& [experts, ranks] : sizes) {
    model.experts = experts;
    const Groups groups = make_groups(ranks, ranks);
    for (const bool to_one : {false, true}) {
      double sum = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        sum += StepFlops(build_iteration(model, groups, rank), groups, rank)
                   .under(routing(model, ranks, to_one));
      }
      EXPECT_DOUBLE_EQ(sum, by_hand(model, copies)) << ranks << " ranks";
    }
  }
}

/// 6 FLOPs a token and element of the seven matrices of latent attention, in place of the two of
/// ordinary attention; of scores 4 and of values 3 products, half of each.
TEST(StepFlops, OfLatentAttentionAreThoseOfItsProducts) {
  Model model = test::small_model(DType::f32);
  const double m = 16, heads = 2, width = 6, values = 5, turned = 2, rank = 7, query_rank = 3;
  const auto length = static_cast<double>(model.sequence_length);
  ASSERT_EQ(static_cast<double>(model.d_model), m);
  ASSERT_EQ(model.heads, 2);
  const Groups groups = make_groups(1, 1);
  const auto flops = [&] {
    return StepFlops(build_iteration(model, groups, 0), groups, 0).under(routing(model, 1, false));
  };
  const double before = flops();
  model.positions = Positions::rotary;
  model.head_width = 6;
  model.own["value_width"] = std::int64_t{5};
  model.own["rotary_columns"] = std::int64_t{2};
  model.own["latent_rank"] = std::int64_t{7};
  model.own["latent_query_rank"] = std::int64_t{3};
  const double matrices = m * (query_rank + rank + turned) + query_rank * heads * width +
                          rank * heads * (width - turned + values) + heads * values * m;
  const double products = length * heads * (4 * width + 3 * values);
  const double tokens = static_cast<double>(model.global_batch) * length;
  const double ordinary = 6 * 4 * m * m + 7 * length * m;
  EXPECT_DOUBLE_EQ(flops() - before, tokens * model.blocks * (6 * matrices + products - ordinary));
}

/// Where Megatron-LM and PaLM count 3: the gradient computes the scores again.
TEST(StepFlops, OfAttentionAreThreeAndAHalfTimesThoseOfItsForward) {
  const Groups groups = make_groups(1, 1);
  const auto of_attention = [&](bool gradient) {
    Program program = build_iteration(test::small_model(DType::f32), groups, 0);
    std::erase_if(program.ops, [&](const Op& op) {
      return !std::holds_alternative<Attention>(op.kind) &&
             !(gradient && std::holds_alternative<AttentionGradient>(op.kind));
    });
    return StepFlops(program, groups, 0).under({});
  };
  EXPECT_GT(of_attention(false), 0);
  EXPECT_DOUBLE_EQ(of_attention(true), 3.5 * of_attention(false));
}

TEST(StepFlops, FollowTheRowsThatARankComputes) {
  const Model model = test::small_model(DType::f32);
  const Groups groups = make_groups(2, 2);
  const double copies =
      static_cast<double>(model.global_batch * model.sequence_length * model.choices);
  const auto of_rank = [&](int rank, bool to_one) {
    return StepFlops(build_iteration(model, groups, rank), groups, rank)
        .under(routing(model, 2, to_one));
  };
  const double moved = 6 * copies / 2 * 2 * static_cast<double>(model.d_model * model.d_hidden);
  EXPECT_DOUBLE_EQ(of_rank(0, true) - of_rank(0, false), moved);
  EXPECT_DOUBLE_EQ(of_rank(1, false) - of_rank(1, true), moved);
}

TEST(StepFlops, OfChunksAreThoseOfTheWhole) {
  const Model model = test::small_model(DType::f32);
  const Groups groups = make_groups(2, 2);
  const Program program = build_iteration(model, groups, 0);
  const Program chunks = apply(program, test::chunked(model, 3, 2));
  const Routing even = routing(model, 2, false);
  EXPECT_DOUBLE_EQ(StepFlops(chunks, groups, 0).under(even),
                   StepFlops(program, groups, 0).under(even));
}

}  // namespace
}  // namespace moe::step_flops_test
