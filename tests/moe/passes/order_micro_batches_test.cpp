#include "moe/passes/order_micro_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/passes/separate_weight_gradients.h"
#include "moe/program/stage_program.h"
#include "moe/program/start_rule.h"
#include "moe/rows/binding.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::order_micro_batches_test {
namespace {

using ::testing::HasSubstr;

Program iteration(int stages, int micro_batches) {
  Model model = all_moe_model(DType::f32, stages);
  model.capacity_factor = 1;
  model.global_batch = model.capacity_groups = 28 * micro_batches;
  model.micro_batches = micro_batches;
  return build_iteration(model, make_groups(Layout{1, 1, 1, 1, stages}), 0);
}

/// "F1 F2 B1 B2": what a stage does, in order.
std::string order_of(const Program& whole, int stage) {
  std::string text;
  for (const Op& op : whole.ops) {
    if (op.stage != stage || op.phase == Phase::update ||
        std::holds_alternative<AllReduce>(op.kind)) {
      continue;
    }
    const std::string task =
        (op.phase == Phase::forward ? "F" : "B") + std::to_string(op.micro_batch + 1);
    if (!text.ends_with(task)) text += (text.empty() ? "" : " ") + task;
  }
  return text;
}

TEST(OrderMicroBatches, GpipeDoesAllForwardBeforeTheFirstBackward) {
  const Program program = apply(iteration(3, 4), OrderMicroBatches{MicroBatchOrder::gpipe});
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(order_of(program, stage), "F1 F2 F3 F4 B1 B2 B3 B4");
  }
}

TEST(OrderMicroBatches, OneForwardOneBackwardKeepsAsManyAheadAsStagesFollow) {
  const Program program = apply(iteration(3, 4), OrderMicroBatches{MicroBatchOrder::one_f_one_b});
  EXPECT_EQ(order_of(program, 0), "F1 F2 F3 B1 F4 B2 B3 B4");
  EXPECT_EQ(order_of(program, 1), "F1 F2 B1 F3 B2 F4 B3 B4");
  EXPECT_EQ(order_of(program, 2), "F1 B1 F2 B2 F3 B3 F4 B4");
}

TEST(OrderMicroBatches, WithoutAPipelineOneForwardOneBackwardIsTheOrderThereWas) {
  const Program program = iteration(1, 3);
  EXPECT_EQ(to_text(apply(program, OrderMicroBatches{MicroBatchOrder::one_f_one_b})),
            to_text(program));
}

TEST(OrderMicroBatches, OneForwardOneBackwardNeedsTheMemoryOfItsDepthOnly) {
  const auto peak = [](MicroBatchOrder order, int micro_batches, int stage) {
    const Program part =
        stage_program(apply(iteration(2, micro_batches), OrderMicroBatches{order}), stage).program;
    std::int64_t activations = planned_peak_bytes(part, {});
    for (const Tensor& tensor : part.tensors) {
      if (tensor.role != Role::activation) activations -= allocated_bytes(tensor, {});
    }
    return activations;
  };
  // The last stage keeps one micro-batch however many there are; GPipe keeps them all.
  EXPECT_NEAR(static_cast<double>(peak(MicroBatchOrder::one_f_one_b, 8, 1)),
              static_cast<double>(peak(MicroBatchOrder::one_f_one_b, 4, 1)),
              0.05 * static_cast<double>(peak(MicroBatchOrder::one_f_one_b, 4, 1)));
  EXPECT_GT(peak(MicroBatchOrder::gpipe, 8, 1), 3 * peak(MicroBatchOrder::one_f_one_b, 8, 1));
  // ZB-H1 has the memory of the first stage on all of them: the inputs of weight gradients that
  // wait are kept.
  const std::int64_t first = peak(MicroBatchOrder::one_f_one_b, 8, 0);
  EXPECT_LE(peak(MicroBatchOrder::zero_bubble, 8, 0), first + first / 20);
  EXPECT_GT(peak(MicroBatchOrder::zero_bubble, 8, 1), peak(MicroBatchOrder::one_f_one_b, 8, 1));
}

const OrderMicroBatches kZeroBubble{MicroBatchOrder::zero_bubble};

TEST(OrderMicroBatches, ZeroBubblePutsWeightGradientsWhereAStageWouldWait) {
  const Program before = iteration(2, 4), program = apply(before, kZeroBubble);
  const std::vector<bool> apart = separate_weight_gradients(program);
  std::string first, last;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (comes_once(op)) continue;
    std::string& text = op.stage == 0 ? first : last;
    const std::string pass = apart[i] ? "W" : op.phase == Phase::forward ? "F" : "B";
    const std::string task = pass + std::to_string(op.micro_batch + 1) + " ";
    if (!text.ends_with(task)) text += task;
  }
  EXPECT_EQ(first, "F1 F2 B1 W1 B2 F3 W2 F4 B3 W3 B4 W4 ");
  EXPECT_EQ(last, "F1 B1 F2 B2 W1 W2 F3 B3 F4 B4 W3 W4 ");
  // Every weight of a linear layer or of experts can wait, so hardly any gradient cannot.
  for (const Op& op : program.ops) {
    const auto i = static_cast<std::size_t>(&op - program.ops.data());
    if (kind_name(op).find("weight_gradient") != std::string_view::npos &&
        !std::holds_alternative<CombineWeightGradient>(op.kind)) {
      EXPECT_TRUE(apart[i]) << op.name;
    }
  }
}

TEST(OrderMicroBatches, ZeroBubbleFollowsTheTimesThatAreStated) {
  OrderMicroBatches slow_weights = kZeroBubble;
  slow_weights.times = {{10, 10, 100}, {10, 10, 100}};
  EXPECT_NE(to_text(apply(iteration(2, 4), slow_weights)),
            to_text(apply(iteration(2, 4), kZeroBubble)));
  slow_weights.times.pop_back();
  try {
    apply(iteration(2, 4), slow_weights);
    FAIL();
  } catch (const Refusal& error) {
    EXPECT_THAT(error.what(), HasSubstr("times of 1 stages, but there are 2"));
  }
}

TEST(OrderMicroBatches, GradientsOfAParameterThatSomeOpCannotPutOffAreAddedInOnePlace) {
  // With a tied embedding on one stage two ops add to one gradient in every micro-batch.
  Model model = all_moe_model(DType::f32, 2);
  model.head = Head::tied;
  model.micro_batches = 3;
  model.global_batch = model.capacity_groups = 28 * model.micro_batches;
  const Program program =
      apply(build_iteration(model, make_groups(Layout{1, 1, 1, 1, 1}), 0), kZeroBubble);
  std::map<TensorId, std::vector<std::pair<int, std::string>>> writers;
  for (const Op& op : program.ops) {
    if (comes_once(op)) continue;
    for (const Use& use : op.writes) {
      if (program.tensors[use.tensor].role != Role::gradient) continue;
      writers[use.tensor].emplace_back(op.micro_batch, op.name.substr(0, op.name.find(" #")));
    }
  }
  std::size_t most = 0;
  for (const auto& [gradient, ops] : writers) {
    const std::size_t each = ops.size() / 3;
    most = std::max(most, each);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_EQ(ops[i].first, static_cast<int>(i / each)) << ops[i].second;
      EXPECT_EQ(ops[i].second, ops[i % each].second);
    }
  }
  EXPECT_EQ(most, 2u);
}

TEST(OrderMicroBatches, InterleavedStagesTakeAChunkAfterTheOther) {
  Model model = all_moe_model(DType::f32, 4);
  model.capacity_factor = 1;
  model.global_batch = model.capacity_groups = 28 * 4;
  model.micro_batches = 4;
  const Program program = apply(
      build_iteration(model, make_groups(Layout{1, 1, 1, 1, 2}), 0),
      {"", {PlaceBlocks{{0, 1, 0, 1}}, OrderMicroBatches{MicroBatchOrder::interleaved_stages}}});
  const auto chunks_of = [&](int stage) {
    std::string text;
    for (const Op& op : program.ops) {
      if (op.stage != stage || op.layer < 0 || comes_once(op)) continue;
      if (std::holds_alternative<PassOn>(op.kind)) continue;
      const std::string task = (op.phase == Phase::forward ? "F" : "B") +
                               std::to_string(op.micro_batch + 1) + (op.layer < 2 ? "" : "'");
      if (!text.ends_with(task)) text += (text.empty() ? "" : " ") + task;
    }
    return text;
  };
  EXPECT_EQ(chunks_of(0), "F1 F2 F1' F2' F3 B1' F4 B2' F3' B1 F4' B2 B3' B4' B3 B4");
  EXPECT_EQ(chunks_of(1), "F1 F2 F1' B1' F2' B2' F3 B1 F4 B2 F3' B3' F4' B4' B3 B4");
}

TEST(OrderMicroBatches, ZeroBubbleInAVTurnsAroundInTheLastStage) {
  Model model = all_moe_model(DType::f32, 4);
  model.capacity_factor = 1;
  model.global_batch = model.capacity_groups = 28 * 4;
  model.micro_batches = 4;
  const Program program = apply(build_iteration(model, make_groups(Layout{1, 1, 1, 1, 2}), 0),
                                {"", {PlaceBlocks{{0, 1, 1, 0}}, kZeroBubble}});
  EXPECT_NO_THROW(validate(program));
  const std::vector<bool> apart = separate_weight_gradients(program);
  std::array<std::string, 2> text;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (op.layer < 0 || comes_once(op) || std::holds_alternative<PassOn>(op.kind)) continue;
    const std::string pass = apart[i] ? "W" : op.phase == Phase::forward ? "F" : "B";
    const std::string task =
        pass + std::to_string(op.micro_batch + 1) + (op.layer == 3 ? "'" : "") + " ";
    std::string& of_stage = text[static_cast<std::size_t>(op.stage)];
    if (!of_stage.ends_with(task)) of_stage += task;
  }
  EXPECT_EQ(text[0].substr(0, 27), "F1 F2 F3 F1' B1' W1' F2' B2");
  EXPECT_EQ(text[1].substr(0, 12), "F1 F2 B1 W1 ");
}

TEST(OrderMicroBatches, ChunksNeedTheirOrderAndTheOrderItsChunks) {
  const auto refusal = [](int stages, int micro_batches, const std::vector<int>& blocks,
                          MicroBatchOrder order) -> std::string {
    Model model = all_moe_model(DType::f32, 4);
    model.global_batch = model.capacity_groups = 28 * micro_batches;
    model.micro_batches = micro_batches;
    Schedule schedule{"", {OrderMicroBatches{order}}};
    if (!blocks.empty()) schedule.decisions.push_back(PlaceBlocks{blocks});
    try {
      apply(build_iteration(model, make_groups(Layout{1, 1, 1, 1, stages}), 0), schedule);
    } catch (const Refusal& error) {
      return error.what();
    }
    return "";
  };
  using enum MicroBatchOrder;
  for (const MicroBatchOrder order : {gpipe, one_f_one_b, zero_bubble}) {
    EXPECT_THAT(refusal(2, 4, {0, 1, 0, 1}, order), HasSubstr("2 stages have 4 chunks of blocks"));
  }
  EXPECT_THAT(refusal(1, 4, {}, interleaved_stages), HasSubstr("there is one pipeline stage"));
  EXPECT_THAT(refusal(2, 3, {0, 1, 0, 1}, interleaved_stages),
              HasSubstr("3 micro-batches for 2 stages"));
  EXPECT_THAT(refusal(3, 3, {0, 1, 0, 2}, interleaved_stages), HasSubstr("in turn"));
  EXPECT_EQ(refusal(2, 4, {0, 1, 0, 1}, interleaved_stages), "");
}

TEST(OrderMicroBatches, InterleavedPassesTakeTurnsAfterTheirExchanges) {
  const Program program = apply(iteration(1, 3), OrderMicroBatches{MicroBatchOrder::interleaved});
  // One MoE layer: a pass has an exchange to the experts, one back, and what comes after.
  EXPECT_EQ(order_of(program, 0), "F1 B1 F2 B1 F2 B1 F2 B2 F3 B2 F3 B2 F3 B3");
}

TEST(OrderMicroBatches, InterleavedPassesComputeWhileRowsOfTheOtherTravel) {
  const Program program =
      apply(iteration(1, 2), {"",
                              {OrderMicroBatches{MicroBatchOrder::interleaved},
                               StreamAssignment{"all_to_all", Stream::inter_node}}});
  const std::vector<std::vector<int>> waits = dependencies(program);
  int beside = 0;
  for (std::size_t i = 0; i + 1 < program.ops.size(); ++i) {
    const Op &exchange = program.ops[i], &next = program.ops[i + 1];
    if (!is_all_to_all(exchange) || next.micro_batch == exchange.micro_batch) continue;
    EXPECT_THAT(waits[i + 1], ::testing::Not(::testing::Contains(static_cast<int>(i))))
        << next.name;
    ++beside;
  }
  EXPECT_EQ(beside, 4);  // two of the first backward pass, two of the second forward pass
}

const OrderMicroBatches kPairs{.order = MicroBatchOrder::in_groups, .group_size = 2};

TEST(OrderMicroBatches, AGroupGoesThroughTheBlocksTogetherForwardAndThenBack) {
  // Each pass has two exchanges, so three stretches.
  EXPECT_EQ(order_of(apply(iteration(1, 3), kPairs), 0),
            "F1 F2 F1 F2 F1 F2 B1 B2 B1 B2 B1 B2 F3 B3");
  EXPECT_EQ(order_of(apply(iteration(1, 3), OrderMicroBatches{MicroBatchOrder::in_groups}), 0),
            "F1 F2 F3 F1 F2 F3 F1 F2 F3 B1 B2 B3 B1 B2 B3 B1 B2 B3");
}

TEST(OrderMicroBatches, AGroupComputesAttentionWhileRowsOfItsOthersTravel) {
  Model model = all_moe_model(DType::f32, 3);
  model.global_batch = model.capacity_groups = 28 * 2;
  model.micro_batches = 2;
  const Program program = apply(build_iteration(model, make_groups(Layout{1, 2}), 0),
                                {"", {kPairs, StreamAssignment{"all_to_all", Stream::inter_node}}});
  const StartRule rule = start_rule(program);
  std::map<Phase, int> beside;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (!std::holds_alternative<Attention>(op.kind) &&
        !std::holds_alternative<AttentionGradient>(op.kind)) {
      continue;
    }
    for (std::size_t j = 0; j < program.ops.size(); ++j) {
      if (!is_all_to_all(program.ops[j]) || program.ops[j].phase != op.phase) continue;
      const auto one = static_cast<int>(i), other = static_cast<int>(j);
      if (!ends_before(rule, one, other) && !ends_before(rule, other, one)) {
        EXPECT_NE(op.micro_batch, program.ops[j].micro_batch);
        ++beside[op.phase];
      }
    }
  }
  // Of the second micro-batch beside the first's dispatch in 3 blocks, of the first beside the
  // second's combine of 2 blocks before. In backward the first's beside the last exchange of the
  // second, and the second's beside the first exchange of the first in the block below.
  EXPECT_EQ(beside[Phase::forward], 3 + 2);
  EXPECT_EQ(beside[Phase::backward], 3 + 2);
}

TEST(OrderMicroBatches, RefusesToTakeTurnsOverStagesAndGroupsThatAreTooLarge) {
  for (const MicroBatchOrder order : {MicroBatchOrder::interleaved, MicroBatchOrder::in_groups}) {
    try {
      apply(iteration(2, 3), OrderMicroBatches{order});
      FAIL();
    } catch (const Refusal& error) {
      EXPECT_THAT(error.what(), HasSubstr("2 pipeline stages: expected a layout with pp=1"));
    }
  }
  try {
    apply(iteration(1, 3), OrderMicroBatches{.order = MicroBatchOrder::in_groups, .group_size = 4});
    FAIL();
  } catch (const Refusal& error) {
    EXPECT_THAT(error.what(), HasSubstr("groups of 4 of 3 micro-batches: expected group_size of at "
                                        "most 3"));
  }
}

TEST(OrderMicroBatches, RefusesOneMicroBatchAndASecondOrder) {
  const auto refusal = [](const Program& program, const Schedule& schedule) -> std::string {
    try {
      apply(program, schedule);
    } catch (const Refusal& error) {
      return error.what();
    }
    return "";
  };
  const OrderMicroBatches gpipe{MicroBatchOrder::gpipe}, other{MicroBatchOrder::one_f_one_b};
  EXPECT_THAT(refusal(iteration(2, 1), {"", {gpipe}}), HasSubstr("one micro-batch"));
  EXPECT_THAT(refusal(iteration(2, 3), {"", {gpipe, other}}), HasSubstr("decided already"));
  EXPECT_THAT(refusal(apply(iteration(2, 3), gpipe), {"", {other}}), HasSubstr("ordered already"));
}

/// Its second part stands behind the first part of the first block.
TEST(OrderMicroBatches, KeepsAnEmbeddingThatIsCutIntoPartsBeforeTheBlocks) {
  Model model = all_moe_model(DType::f64, 2);
  model.own["embedding_factor"] = 0.5;
  model.micro_batches = 2;
  const Layout layout{1, 1, 1, 1, 2};
  const Program program = build_iteration(model, make_groups(layout), 0);
  PartitionRange range{0, 2, 20, 0};
  while (!is_legal(program, {"", {range}})) --range.ops_before;
  const Program cut = apply(program, range);
  EXPECT_TRUE(std::ranges::any_of(cut.ops, [](const Op& op) {
    return op.layer < 0 && op.phase == Phase::forward && op.part.count == 2;
  }));
  const Outcome reference = train_small(model, {}, 1, 1);
  for (const MicroBatchOrder order :
       {MicroBatchOrder::gpipe, MicroBatchOrder::one_f_one_b, MicroBatchOrder::zero_bubble}) {
    const Schedule schedule{"", {range, OrderMicroBatches{order}}};
    EXPECT_LT(largest_difference(train_small(model, schedule, layout, 1), reference), 1e-12);
  }
}

TEST(OrderMicroBatches, IsReadAndWrittenByName) {
  const Schedule schedule{"p", {OrderMicroBatches{MicroBatchOrder::gpipe}}};
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_THAT(to_json(schedule), HasSubstr("\"order\": \"gpipe\""));
  const Schedule pairs{"p", {kPairs}};
  EXPECT_EQ(schedule_from_json(to_json(pairs)), pairs);
  EXPECT_THAT(to_json(pairs), HasSubstr("\"group_size\": 2"));
  OrderMicroBatches with_all{.order = MicroBatchOrder::zero_bubble,
                             .in_flight = 8,
                             .times = {{10, 12, 9}, {11, 13, 8}},
                             .pass_on_time = 2};
  const Schedule full{"p", {with_all}};
  EXPECT_EQ(schedule_from_json(to_json(full)), full);
  with_all.order = MicroBatchOrder::gpipe;  // which keeps as many micro-batches as there are
  EXPECT_THROW(schedule_from_json(to_json(Schedule{"p", {with_all}})), InputError);
}

}  // namespace
}  // namespace moe::test::order_micro_batches_test
