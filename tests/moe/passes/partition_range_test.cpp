#include "moe/passes/partition_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/model/combination_refusal.h"
#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "moe/passes/gate_choice.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::partition_range_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::largest_difference;
using test::Outcome;
using test::small_model;
using test::train_small;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// On one rank 28 sequences of 8 tokens, on four 7; experts in layer 1.
Program iteration(const Model& model = small_model(DType::f64), int ranks = 4) {
  return build_iteration(model, make_groups(ranks, ranks), 0);
}

Schedule partitioned(const PartitionRange& range) {
  return {"partitioned", {range, StreamAssignment{"all_to_all", Stream::inter_node}}};
}

/// Kinds and parts of the ops that were cut.
std::string order_of_parts(const Program& program, Phase phase) {
  std::string order;
  for (const Op& op : program.ops) {
    if (op.part.count > 1 && op.phase == phase) {
      order += std::string(kind_name(op)) + std::to_string(op.part.index) + " ";
    }
  }
  return order;
}

TEST(PartitionRange, StandsStageByStageUpToEachExchangePartAfterPart) {
  Model model = small_model(DType::f64);
  model.global_batch = model.capacity_groups = 24;
  const Program cut = apply(iteration(model), PartitionRange{1, 2, 3, 1});
  EXPECT_EQ(order_of_parts(cut, Phase::forward),
            "layer_norm0 linear0 softmax0 select_experts0 exchange_counts0 permute0 all_to_all0 "
            "layer_norm1 linear1 softmax1 select_experts1 exchange_counts1 permute1 all_to_all1 "
            "expert_linear0 gelu0 expert_linear0 all_to_all0 "
            "expert_linear1 gelu1 expert_linear1 all_to_all1 "
            "combine0 add0 combine1 add1 ");
  EXPECT_EQ(
      order_of_parts(cut, Phase::backward),
      "combine_weight_gradient0 combine_input_gradient0 all_to_all0 "
      "combine_weight_gradient1 combine_input_gradient1 all_to_all1 "
      "expert_linear_input_gradient0 gelu_gradient0 expert_linear_input_gradient0 all_to_all0 "
      "expert_linear_input_gradient1 gelu_gradient1 expert_linear_input_gradient1 all_to_all1 "
      "expert_linear_weight_gradient0 expert_linear_weight_gradient0 permute_gradient0 "
      "expert_linear_weight_gradient1 expert_linear_weight_gradient1 permute_gradient1 ");
}

TEST(PartitionRange, OfOnePartChangesNothing) {
  EXPECT_EQ(to_text(apply(iteration(), PartitionRange{1, 1, 3, 1})), to_text(iteration()));
}

TEST(PartitionRange, DropsTheTokensOfTheWholeBatchInUpToEightParts) {
  // Switch routing with a capacity  [Lancet 4.1].
  for (const int batch : {24, 35}) {
    Model model = small_model(DType::f64);
    model.choices = 1;
    model.capacity_factor = 0.7;
    model.global_batch = batch;
    model.capacity_groups = 1;
    const Outcome reference = train_small(model, chunked(model, 1, 1), 1, 2);
    EXPECT_GT(reference.dropped.back(), 0);
    for (int parts = 2; parts <= 8; ++parts) {
      if (batch % parts != 0) continue;
      for (const int reach : {0, 9}) {
        const Outcome outcome =
            train_small(model, partitioned({1, parts, reach, std::min(reach, 1)}), 1, 2);
        EXPECT_EQ(outcome.dropped, reference.dropped) << parts << " parts";
        EXPECT_EQ(outcome.routing.layers[0].tokens, reference.routing.layers[0].tokens);
        EXPECT_EQ(outcome.routing.layers[0].asked, reference.routing.layers[0].asked);
        EXPECT_NEAR(outcome.losses[1], reference.losses[1], 1e-12);
        EXPECT_LT(largest_difference(outcome, reference), 1e-12);
      }
    }
  }
}

TEST(PartitionRange, OnRanksThatShareExpertsAndInMicroBatches) {
  Model model = small_model(DType::f64);
  model.global_batch = model.capacity_groups = 48;
  model.drop = Drop::position;
  model.capacity_factor = 0.8;
  model.micro_batches = 2;
  const Outcome reference = train_small(model, chunked(model, 1, 1), 1, 2);
  for (const Layout& layout : {Layout{1, 4, 1}, Layout{1, 2, 2}, Layout{2, 2, 1}}) {
    const Outcome outcome = train_small(model, partitioned({1, 3, 4, 0}), layout, 2);
    EXPECT_EQ(outcome.dropped, reference.dropped);
    EXPECT_NEAR(outcome.losses[1], reference.losses[1], 1e-12);
    EXPECT_LT(largest_difference(outcome, reference), 1e-12);
    EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks) << "dropless tensors: no room is spare";
  }
}

/// The model with every gate, k and order of dropping that chooses copies for whole capacity
/// groups.
std::vector<Model> with_whole_choices(const Model& alike) {
  std::vector<Model> models;
  for (const Gate& gate : gates()) {
    for (const int choices : {1, 2, 3}) {
      for (const Drop drop : {Drop::choice, Drop::probability}) {
        const bool has_its_own = gate.facts.drop || takes_whole_groups(gate.facts.chooser);
        if (has_its_own && drop != Drop::choice) continue;
        Model model = alike;
        model.gate = gate.name;
        model.choices = choices;
        model.drop = drop;
        if (combination_refusal(model)) continue;
        const Program program = build_iteration(model, make_groups(1, 1), 0);
        const bool whole = std::any_of(program.ops.begin(), program.ops.end(),
                                       [](const Op& op) { return refusal_to_cut(op).has_value(); });
        if (whole) models.push_back(model);
      }
    }
  }
  return models;
}

void expect_the_same(const Outcome& outcome, const Outcome& reference) {
  EXPECT_EQ(outcome.dropped, reference.dropped);
  for (std::size_t layer = 0; layer < reference.routing.layers.size(); ++layer) {
    EXPECT_EQ(outcome.routing.layers[layer].tokens, reference.routing.layers[layer].tokens);
    EXPECT_EQ(outcome.routing.layers[layer].asked, reference.routing.layers[layer].asked);
  }
  for (std::size_t step = 0; step < reference.losses.size(); ++step) {
    EXPECT_NEAR(outcome.losses[step], reference.losses[step], 1e-12);
    EXPECT_NEAR(outcome.auxiliary_losses[step], reference.auxiliary_losses[step], 1e-12);
    EXPECT_NEAR(outcome.z_losses[step], reference.z_losses[step], 1e-12);
  }
  EXPECT_LT(largest_difference(outcome, reference), 1e-12);
}

TEST(PartitionRange, AfterAGateThatNeedsTheWholeBatchDropsTheSameRowsInUpToEightParts) {
  int gates_cut = 0;
  for (const int batch : {24, 35}) {
    Model alike = small_model(DType::f64);
    alike.capacity_factor = 0.7;
    alike.z_loss_weight = 0.1;
    alike.global_batch = batch;
    alike.capacity_groups = batch == 24 ? 4 : 1;  // parts begin within groups
    for (const Model& model : with_whole_choices(alike)) {
      SCOPED_TRACE(std::string(model.gate) + " " + std::string(drop_name(model.drop)) + " " +
                   std::to_string(model.choices));
      const Outcome reference = train_small(model, chunked(model, 1, 1), 1, 2);
      const bool asks = !takes_whole_groups(gate_named(model.gate).facts.chooser);
      EXPECT_EQ(reference.dropped.back() > 0, asks);
      for (int parts = 2; parts <= 8; ++parts) {
        if (batch % parts != 0) continue;
        // All numbers of parts with two choices, the most with others.
        if (model.choices != 2 && parts != (batch == 24 ? 8 : 7)) continue;
        SCOPED_TRACE(parts);
        expect_the_same(train_small(model, partitioned({1, parts, 0, parts % 2}), 1, 2), reference);
      }
      ++gates_cut;
    }
  }
  // Batches, (gates, (k, drop)) of the ten gates that there were first; others add to it.
  EXPECT_GE(gates_cut, 2 * (7 * 5 + 2 * 3));
}

TEST(PartitionRange, AfterAGateThatNeedsTheWholeBatchStandsAsAfterAnyOther) {
  Model model = small_model(DType::f64);
  model.gate = "batch_prioritized";
  model.capacity_factor = 1;
  model.global_batch = model.capacity_groups = 24;
  const Program cut = apply(iteration(model), PartitionRange{1, 2, 0, 1});
  EXPECT_EQ(order_of_parts(cut, Phase::forward),
            "split_selection0 exchange_counts0 permute0 all_to_all0 "
            "split_selection1 exchange_counts1 permute1 all_to_all1 "
            "expert_linear0 gelu0 expert_linear0 all_to_all0 "
            "expert_linear1 gelu1 expert_linear1 all_to_all1 "
            "combine0 add0 combine1 add1 ");
  const auto gate = std::find_if(cut.ops.begin(), cut.ops.end(), chooses_experts);
  ASSERT_NE(gate, cut.ops.end());
  EXPECT_TRUE(is_whole(gate->part));
}

TEST(PartitionRange, AfterAGateThatNeedsTheWholeBatchGoesWithLayoutsAndOtherDecisions) {
  for (const char* gate : {"batch_prioritized", "sigmoid", "expert_choice"}) {
    Model model = small_model(DType::f64);
    model.gate = gate;
    model.choices = 3;
    model.global_batch = model.capacity_groups = 48;
    model.capacity_factor = 0.8;
    model.micro_batches = 2;
    const Outcome reference = train_small(model, chunked(model, 1, 1), 1, 2);
    const PartitionRange range{1, 3, 0, 1};
    for (const Layout& layout : {Layout{1, 4, 1}, Layout{1, 2, 2}, Layout{2, 2, 1}}) {
      Schedule schedule = partitioned(range);
      schedule.decisions.push_back(OrderMicroBatches{MicroBatchOrder::interleaved});
      const Outcome outcome = train_small(model, schedule, layout, 2);
      expect_the_same(outcome, train_small(model, chunked(model, 1, 1), layout, 2));
      EXPECT_EQ(outcome.dropped, reference.dropped);
      EXPECT_LT(largest_difference(outcome, reference), 1e-12);
      EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks);
    }
    Schedule schedule = partitioned(range);
    schedule.decisions.push_back(ReplicateExperts{1, {{{2, {1, 3}}, {9, {2}}}}});
    schedule.decisions.push_back(Exchange{1, Phase::forward, {}, Route::two_d, 0});
    const Groups groups = make_groups(4, 4, {0, 0, 1, 1});
    const Outcome outcome = train_small(model, schedule, groups, 2);
    EXPECT_EQ(outcome.dropped, reference.dropped);
    EXPECT_LT(largest_difference(outcome, reference), 1e-12);
  }
}

TEST(PartitionRange, ReachesToWhatRoutesTheNextLayerAndNoFurther) {
  const Program program = iteration(all_moe_model(DType::f64, 2), 1);
  const auto forward = forward_ops(program, 0);
  const auto place_of = [&](int layer, std::string_view kind) {
    const auto is_it = [&](std::size_t i) {
      return program.ops[i].layer == layer && kind_name(program.ops[i]) == kind;
    };
    return std::find_if(forward.begin(), forward.end(), is_it) - forward.begin();
  };
  // All ops between the two layers can be cut with either.
  const auto between = static_cast<int>(place_of(1, "select_experts") - place_of(0, "combine")) - 1;
  EXPECT_GT(between, 5);
  EXPECT_NO_THROW(apply(program, PartitionRange{0, 2, 0, between}));
  EXPECT_NO_THROW(apply(program, PartitionRange{1, 2, between, 0}));
  EXPECT_THAT(
      [&] {
        apply(program, PartitionRange{0, 2, 0, between + 1});
      },
      ThrowsMessage<Refusal>(HasSubstr("\"gate\" is of MoE layer 1")));
  EXPECT_THAT(
      [&] {
        apply(program, PartitionRange{1, 2, between + 1, 0});
      },
      ThrowsMessage<Refusal>(HasSubstr("\"combine\" is of MoE layer 0")));
  const auto all_but_the_loss = static_cast<int>(std::ssize(forward) - place_of(1, "combine")) - 2;
  EXPECT_NO_THROW(apply(program, PartitionRange{1, 2, 0, all_but_the_loss}));
  EXPECT_THAT(
      [&] {
        apply(program, PartitionRange{1, 2, 0, all_but_the_loss + 1});
      },
      ThrowsMessage<Refusal>(HasSubstr("cannot be cut along the batch")));
  const auto all_but_the_embedding = static_cast<int>(place_of(0, "select_experts")) - 1;
  EXPECT_NO_THROW(apply(program, PartitionRange{0, 2, all_but_the_embedding, 0}));
  EXPECT_THAT(
      [&] {
        apply(program, PartitionRange{0, 2, all_but_the_embedding + 1, 0});
      },
      ThrowsMessage<Refusal>(HasSubstr("cannot be cut along the batch")));
}

void expect_refused(const Program& program, const PartitionRange& range,
                    const ::testing::Matcher<const std::string&>& why) {
  EXPECT_THAT([&] { apply(program, range); }, ThrowsMessage<Refusal>(why));
}

TEST(PartitionRange, SaysWhatIsInTheWayAndWhatWouldDo) {
  const Program program = iteration();
  expect_refused(program, {1, 2, 0, 0},
                 HasSubstr("layer 1: 2 parts of 7 sequences of a rank and micro-batch: expected a "
                           "divisor of 7"));
  expect_refused(program, {0, 7, 0, 0}, HasSubstr("layer 0: no experts there"));
  expect_refused(program, {1, 7, 100, 0}, HasSubstr("100 ops before and 0 after: forward has"));

  Model model = small_model(DType::f64);
  model.choices = 2;
  model.capacity_factor = 1;
  expect_refused(
      iteration(model), {1, 7, 1, 0},
      AllOf(HasSubstr("layer 1: 1 ops before: gate \"softmax\" with choices = 2 and drop = "
                      "\"choice\" needs the whole batch: expected drop = \"position\""),
            HasSubstr(", or ops_before = 0")));
  model.gate = "expert_choice";
  expect_refused(
      iteration(model), {1, 7, 2, 0},
      AllOf(HasSubstr("its gate looks at whole capacity groups"), HasSubstr("or ops_before = 0")));
  model.gate = "soft_moe";
  model.order = "einsum";
  expect_refused(
      iteration(model), {1, 7, 0, 0},
      AllOf(HasSubstr("its gate looks at whole capacity groups"), HasSubstr("or pipeline_split")));
  model = small_model(DType::f64);
  model.order = "einsum";
  expect_refused(iteration(model), {1, 7, 0, 0},
                 HasSubstr("cannot be cut along the batch (it needs all of"));
}

TEST(PartitionRange, AndASplitAlongTheRoutedRowsExcludeEachOther) {
  Schedule both = partitioned({1, 7, 0, 0});
  both.decisions.push_back(PipelineSplit{1, Phase::forward, 2});
  EXPECT_THAT([&] { apply(iteration(), both); },
              ThrowsMessage<Refusal>(HasSubstr("cut along the batch (partition_range)")));
}

TEST(PartitionRange, IsReadAsItIsWritten) {
  const Schedule schedule = partitioned({3, 4, 5, 6});
  EXPECT_EQ(canonical(schedule_from_json(to_json(schedule))), canonical(schedule));
}

}  // namespace
}  // namespace moe::partition_range_test
