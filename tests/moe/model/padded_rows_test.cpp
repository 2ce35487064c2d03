// exchange = "padded": every rank sends every expert as many rows as its capacity.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "moe/model/iteration.h"
#include "moe/passes/partition_range.h"
#include "moe/program/row_handling.h"
#include "moe/program/start_rule.h"
#include "moe/program/work.h"
#include "tests/moe/passes/random_draw.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::padded_rows_test {
namespace {

const Schedule kUncut{"sequential", {}};

/// On 4 ranks, each a capacity group of 56 tokens: 2 copies of each for 28 experts, 5 from a rank.
Model padded_model(DType dtype) {
  Model model = small_model(dtype);
  model.capacity_factor = 1.25;
  model.capacity_groups = 4;
  model.exchange = ExchangedRows::padded;
  return model;
}
constexpr std::int64_t kCapacity = 5;

Model irregular(Model model) {
  model.exchange = ExchangedRows::irregular;
  return model;
}

TEST(PaddedRows, TrainToTheLossesGradientsAndDropsOfIrregularOnes) {
  // Of 10 experts two of four ranks have one less than the others.
  for (const auto& [dtype, experts] :
       {std::pair{DType::f32, 28}, std::pair{DType::f64, 28}, std::pair{DType::f64, 10}}) {
    const double limit = dtype == DType::f64 ? 1e-12 : 1e-5;
    Model model = padded_model(dtype);
    model.experts = experts;
    const Outcome reference = train_small(irregular(model), kUncut, 1, 3);
    EXPECT_GT(reference.dropped.back(), 0);
    for (const Layout layout : {Layout{1, 1, 1}, Layout{1, 4, 1}, Layout{1, 2, 2, 2}}) {
      for (const char* order : {"sparse", "einsum"}) {
        model.order = order;
        const Outcome outcome = train_small(model, chunked(model, 3, 2), layout, 3);
        EXPECT_NEAR(outcome.losses[0], reference.losses[0], limit * reference.losses[0]);
        EXPECT_NEAR(outcome.losses[2], reference.losses[2], 1e-4 * reference.losses[2]);
        EXPECT_NEAR(outcome.auxiliary_losses[0], reference.auxiliary_losses[0],
                    limit * reference.auxiliary_losses[0]);
        EXPECT_LT(largest_difference(outcome, reference), 10 * limit) << to_text(layout) << order;
        EXPECT_EQ(outcome.dropped, reference.dropped);
      }
    }
  }
}

/// Random schedules of random models, layouts and micro-batches, whose gates may fill every expert.
TEST(PaddedRows, RandomModelsTrainAsWithIrregularRows) {
  std::mt19937 random(22);
  int trained = 0, in_parts = 0;
  for (int i = 0; i < 400 && trained < 25; ++i) {
    Draw draw = random_draw(random);
    if (!draw.model.capacity_factor || draw.model.dtype != DType::f64) continue;
    draw.model.exchange = ExchangedRows::padded;
    const Groups groups = make_groups(draw.layout, draw.node_of);
    if (!is_legal(build_iteration(draw.model, groups, 0), draw.schedule)) continue;
    if (!changes_results(draw.schedule).empty()) continue;
    const Outcome reference = train_small(irregular(draw.model), kUncut, 1, 1);
    const Outcome outcome = train_small(draw.model, draw.schedule, groups, 1);
    EXPECT_NEAR(outcome.losses[0], reference.losses[0], 1e-12 * reference.losses[0])
        << describe(draw);
    EXPECT_LT(largest_difference(outcome, reference), 1e-11) << describe(draw);
    EXPECT_EQ(outcome.dropped, reference.dropped) << describe(draw);
    in_parts += !decisions_of<PartitionRange>(draw.schedule).empty();
    ++trained;
  }
  EXPECT_EQ(trained, 25);
  EXPECT_GT(in_parts, 1);
}

TEST(PaddedRows, AreAsManyAsTheCapacityWhateverTheRouting) {
  const Model model = padded_model(DType::f32);
  for (const Layout layout : {Layout{1, 4, 1}, Layout{1, 2, 2}}) {
    const Groups groups = make_groups(layout);
    const Program program = build_iteration(model, groups, 0);
    const Routing uneven{
        {zipf_routing(1, 4, static_cast<int>(model.experts), 112, 1.2, 1, kCapacity * 4)}};
    const Binding binding = bind(program, uneven, groups, 1);
    const std::int64_t rows = kCapacity * model.experts;
    for (const Tensor& tensor : program.tensors) {
      if (tensor.rows_are == Rows::fixed) continue;
      const std::int64_t expected = tensor.rows_are == Rows::gathered ? 2 * rows : rows;
      EXPECT_EQ(rows_of(tensor, binding), expected) << tensor.name;
      EXPECT_EQ(tensor.rows, expected) << tensor.name << ": memory is planned for so many";
    }
    const Routing exchanged = with_all_rows(exchanged_rows(program, uneven));
    EXPECT_EQ(exchanged.layers.at(0).tokens,
              std::vector(4, std::vector<std::int64_t>(static_cast<std::size_t>(model.experts),
                                                       kCapacity)));
    for (const Op& op : program.ops) {
      if (!std::holds_alternative<AllToAll>(op.kind)) continue;
      const std::int64_t bytes = kCapacity * model.experts / layout.expert * model.d_model * 4;
      for (const std::int64_t to : bytes_to_peers(program, op, binding, groups, 1)) {
        EXPECT_TRUE(to == 0 || to == bytes) << to;
      }
    }
  }
}

TEST(PaddedRows, OfPartsAreNoMoreThanTheirTokens) {
  Model model = padded_model(DType::f32);
  model.drop = Drop::position;
  model.capacity_factor = 14;  // an expert takes every token of a rank
  const Groups groups = make_groups(4, 4);
  const Program program = build_iteration(model, groups, 0);
  const std::int64_t tokens = program.tensors[program.tokens.front()].rows;
  const Program parts = apply(program, PartitionRange{1, 7, 0, 0});
  const Binding binding = bind(parts, {}, groups, 0);
  EXPECT_EQ(binding.layouts.size(), 7u);
  for (const auto& [layer, layout] : binding.layouts) {
    EXPECT_EQ(sent_rows(layout), tokens / 7 * model.experts);
  }
}

TEST(PaddedRows, NoneWaitsForCountsAndLossesOfGatesComeLast) {
  const Groups groups = make_groups(4, 4);
  for (const bool pads : {false, true}) {
    Model model = padded_model(DType::f32);
    if (!pads) model = irregular(model);
    const Program program = forward_only(build_iteration(model, groups, 0));
    const StartRule rule = start_rule(program);
    int exchanges = 0, waiting = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      exchanges += binds_routing(program.ops[i]);
      waiting += std::ranges::any_of(rule.waits_for[i], [&](int earlier) {
        return program.ops[static_cast<std::size_t>(earlier)].stream == Stream::host;
      });
    }
    EXPECT_EQ(exchanges, pads ? 0 : 1);
    if (!pads) continue;
    EXPECT_EQ(waiting, 1);
    EXPECT_TRUE(std::holds_alternative<LoadBalancingLoss>(program.ops.back().kind));
  }
}

}  // namespace
}  // namespace moe::test::padded_rows_test
