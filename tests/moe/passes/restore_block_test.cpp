#include "moe/passes/restore_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/repeated_op.h"
#include "moe/passes/schedule.h"
#include "moe/program/stage_program.h"
#include "tests/moe/train/training_case.h"

namespace moe::restore_block_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::largest_difference;
using test::largest_state_difference;
using test::Outcome;
using test::small_model;
using test::train_small;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Schedule kPlain{"plain", {}};

Schedule restored(const Model& model, RestoreDense dense) {
  Schedule schedule{"restored", {}};
  for (int block = 0; block < model.blocks; ++block) {
    schedule.decisions.push_back(RestoreBlock{block, dense});
  }
  return schedule;
}

/// The schedule with every block that is sent rows computed again whole, and the others too.
Schedule with_whole_blocks(const Program& program, Schedule schedule) {
  std::set<int> blocks, sending;
  for (const Op& op : program.ops) {
    if (op.layer >= 0) blocks.insert(op.layer);
    if (repeats_with_block(op)) sending.insert(op.layer);
  }
  for (const int block : blocks) {
    schedule.decisions.push_back(RestoreBlock{
        block, RestoreDense::recompute,
        sending.contains(block) ? RestoreCommunication::repeat : RestoreCommunication::keep});
  }
  return schedule;
}

void expect_same_bits(const Model& model, const Layout& layout, Schedule schedule) {
  const Program program = build_iteration(model, make_groups(layout), 0);
  schedule = test::with_streams_of(program, std::move(schedule));
  const Outcome plain = train_small(model, schedule, layout, 2);
  const Outcome outcome = train_small(model, with_whole_blocks(program, schedule), layout, 2);
  const std::string where = to_text(layout) + " " + to_json(schedule);
  EXPECT_EQ(outcome.losses, plain.losses) << where;
  EXPECT_EQ(outcome.auxiliary_losses, plain.auxiliary_losses) << where;
  EXPECT_EQ(largest_difference(outcome, plain), 0) << where;
  EXPECT_EQ(largest_state_difference(outcome, plain), 0) << where;
  for (std::size_t rank = 0; rank < outcome.planned_peaks.size(); ++rank) {
    const bool all_rows =
        !model.capacity_factor;  // experts may have fewer rows than their capacity
    const std::int64_t touched = outcome.touched_peaks[rank], planned = outcome.planned_peaks[rank];
    EXPECT_TRUE(all_rows ? touched == planned : touched <= planned)
        << where << ": " << touched << " of " << planned;
  }
}

/// Models of either kind of norm, positions and dense networks.
std::vector<Model> models() {
  std::vector<Model> models(2, small_model(DType::f32));
  models[1].norm = Norm::rms_norm;
  models[1].positions = Positions::rotary;
  models[1].expert = "mixtral";
  models[1].shared_experts = 1;
  models[1].micro_batches = 2;
  models[1].global_batch = models[1].capacity_groups = 56;
  return models;
}

TEST(RestoreBlock, ChangesNoBit) {
  for (const Model& model : models()) {
    for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 2, 2, 2}, Layout{1, 2, 1, 1, 2}}) {
      const Outcome plain = train_small(model, kPlain, layout, 2);
      for (const RestoreDense dense : {RestoreDense::recompute, RestoreDense::offload}) {
        const Outcome outcome = train_small(model, restored(model, dense), layout, 2);
        EXPECT_EQ(outcome.losses, plain.losses) << to_text(layout);
        EXPECT_EQ(largest_difference(outcome, plain), 0) << to_text(layout);
        EXPECT_EQ(largest_state_difference(outcome, plain), 0) << to_text(layout);
        EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks) << to_text(layout);
        EXPECT_EQ(outcome.touched_host_peaks, outcome.planned_host_peaks) << to_text(layout);
      }
    }
  }
}

TEST(RestoreBlock, ChangesNoBitWhereExchangesAreRepeated) {
  std::vector<Model> all = models();
  all[1].capacity_factor = 1.25;
  all.push_back(all_moe_model(DType::bf16, 2));
  all.back().capacity_factor = 1.25;
  all.back().exchange = ExchangedRows::padded;
  all.push_back(all_moe_model(DType::f32, 2));
  all.back().order = "einsum";
  all.back().gate = "x_moe";
  for (const Model& model : all) {
    for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 2, 2, 2}, Layout{1, 2, 1, 1, 2}}) {
      expect_same_bits(model, layout, kPlain);
    }
  }
  const Model chunks = all_moe_model(DType::f32, 2);
  expect_same_bits(chunks, {1, 2, 2, 2}, chunked(chunks, 3, 2));
  for (const Schedule& routes : test::chunked_by_routes(small_model(DType::f32))) {
    expect_same_bits(small_model(DType::f32), {1, 4, 1}, routes);
  }
}

TEST(RestoreBlock, ChangesNoBitWhereExchangesAreRepeatedInAnyOrderOfMicroBatches) {
  Model model = all_moe_model(DType::f32, 4);
  model.expert = "mixtral";
  model.shared_experts = 1;
  model.micro_batches = 4;
  model.global_batch = model.capacity_groups = 16;
  for (const MicroBatchOrder order :
       {MicroBatchOrder::gpipe, MicroBatchOrder::one_f_one_b, MicroBatchOrder::zero_bubble}) {
    expect_same_bits(model, {1, 2, 1, 1, 2}, {"", {OrderMicroBatches{order}}});
  }
  expect_same_bits(
      model, {1, 2, 1, 1, 2},
      {"", {PlaceBlocks{{0, 1, 0, 1}}, OrderMicroBatches{MicroBatchOrder::interleaved_stages}}});
  for (const MicroBatchOrder order : {MicroBatchOrder::interleaved, MicroBatchOrder::in_groups}) {
    expect_same_bits(model, {1, 2, 1, 2}, {"", {OrderMicroBatches{order}}});
  }
}

/// Bytes that forward of a block hands to backward, by the tensor's name.
std::map<std::string, std::int64_t> kept(const Program& program, int block) {
  std::set<TensorId> written;
  std::map<std::string, std::int64_t> bytes;
  for (const Op& op : program.ops) {
    if (op.phase == Phase::forward) {
      for (const Use& use : op.writes) written.insert(use.tensor);
    }
    if (op.phase != Phase::backward || op.layer != block) continue;
    for (const Use& use : op.reads) {
      const Tensor& tensor = program.tensors[use.tensor];
      if (tensor.role != Role::activation || !written.contains(use.tensor)) continue;
      bytes[tensor.name] = tensor.rows * tensor.columns * bytes_of(tensor.dtype);
    }
  }
  return bytes;
}

TEST(RestoreBlock, KeepsTheInputOfAWholeBlockAndTheChoicesOfItsGate) {
  for (const char* const gate : {"gshard", "sigmoid", "bias_adjusted", "x_moe"}) {
    Model model = all_moe_model(DType::bf16, 2);
    model.gate = gate;
    const Layout layout{1, 2, 2, 2};
    const Program program = build_iteration(model, make_groups(layout), 0);
    const auto of_block = kept(apply(program, with_whole_blocks(program, {})), 1);
    const std::int64_t tokens = model.global_batch * model.sequence_length / rank_count(layout);
    std::map<std::string, std::int64_t> floor{{"block0.output", tokens * model.d_model * 2},
                                              {"block1.expert", tokens * model.choices * 4},
                                              {"block1.slot", tokens * model.choices * 4},
                                              {"block1.gate_weight", tokens * model.choices * 4},
                                              {"block1.offsets", (model.experts + 1) * 4},
                                              {"block1.total_demand", model.experts * 4}};
    EXPECT_EQ(of_block, floor) << gate;
  }
}

TEST(RestoreBlock, NeedsLessMemory) {
  Model model = small_model(DType::f32);
  model.blocks = 6;
  model.sequence_length = 32;
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  const auto peak = [&](const Schedule& schedule, Pool pool) {
    RunOptions options;
    Program scheduled = apply(program, schedule);
    options.memory_limit_bytes = options.host_memory_limit_bytes = 1 << 28;
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    const std::unique_ptr<Communicator> solo = make_solo_communicator();
    Runner runner(std::move(scheduled), make_groups(1, 1), *backend, *solo, options);
    const IterationResult result = runner.iterate();
    return pool == Pool::host ? result.planned_host_peak_bytes : result.planned_peak_bytes;
  };
  for (const RestoreDense dense : {RestoreDense::recompute, RestoreDense::offload}) {
    Schedule schedule;
    std::int64_t before = peak(schedule, Pool::device);
    const std::int64_t plain = before;
    EXPECT_EQ(peak(schedule, Pool::host), 0);
    for (const int block : {0, 2, 4}) {
      schedule.decisions.push_back(RestoreBlock{block, dense});
      const std::int64_t bytes = peak(schedule, Pool::device);
      // How tightly tensors are packed differs from one Program to the next.
      EXPECT_LT(static_cast<double>(bytes), 1.03 * static_cast<double>(before)) << block;
      before = bytes;
    }
    EXPECT_LT(before, plain);
    EXPECT_EQ(peak(schedule, Pool::host) > 0, dense == RestoreDense::offload);
  }
}

TEST(RestoreBlock, OfWholeBlocksKeepsAFewBytesOfAToken) {
  Model model = all_moe_model(DType::f32, 6);
  model.sequence_length = 32;
  model.capacity_factor = 2;
  model.micro_batches = 4;
  model.global_batch = model.capacity_groups = 8;
  const Layout layout{1, 2, 1, 1, 2};
  const Groups groups = make_groups(layout);
  const Program program = build_iteration(model, groups, 0);
  std::int64_t states = 0;
  for (const Tensor& tensor : stage_program(program, 0).program.tensors) {
    if (lives_within_iteration(tensor.role)) continue;
    states += tensor.rows * tensor.columns * bytes_of(tensor.dtype);
  }
  const auto activations = [&](const Schedule& schedule) {
    return static_cast<double>(known_peak_bytes(apply(program, schedule), 0).value() - states);
  };
  const Schedule ordered{"", {OrderMicroBatches{MicroBatchOrder::gpipe}}};
  Schedule dense = ordered;
  for (int block = 0; block < model.blocks; ++block) dense.decisions.push_back(RestoreBlock{block});
  const double all = activations(ordered), kept = activations(dense),
               least = activations(with_whole_blocks(program, ordered));
  EXPECT_LT(kept, all);
  EXPECT_LT(least, 0.5 * kept);
}

TEST(RestoreBlock, OfAWholeBlockIsRefusedWithWhatDoesNotGoWithIt) {
  const auto refuses = [](const Program& program, const std::vector<Decision>& decisions,
                          const std::string& why) {
    EXPECT_THAT(
        [&] {
          apply(program, Schedule{"", decisions});
        },
        ThrowsMessage<Refusal>(HasSubstr(why)));
  };
  const Program program = build_iteration(small_model(DType::f32), make_groups(2, 2), 0);
  refuses(program, {RestoreBlock{1, RestoreDense::offload, RestoreCommunication::repeat}},
          "restore_block: offload, repeat (layer 1)");
  refuses(program, {RestoreBlock{0, RestoreDense::recompute, RestoreCommunication::repeat}},
          "nothing is sent in the block: expected layer 1");
  refuses(program,
          {PipelineSplit{1, Phase::forward, 2}, PipelineSplit{1, Phase::backward, 2},
           RestoreActivation{1, RestoreDispatched::communicate, RestoreHidden::recompute},
           RestoreBlock{1, RestoreDense::recompute, RestoreCommunication::repeat}},
          "chunks share buffers");
}

/// A weight gradient goes behind the exchange of gradients, not behind one that is repeated.
TEST(RestoreBlock, LeavesTheNamesOfExchangesToGradients) {
  const Program program = build_iteration(all_moe_model(DType::f32, 2), make_groups(2, 2), 0);
  const auto behind = [&](Schedule schedule) {
    schedule.decisions.push_back(
        PlaceWeightGradient{"block1.attention.qkv.weight", 0, Direction::combine, 0});
    std::string last;
    for (const Op& op : apply(program, schedule).ops) {
      if (op.phase == Phase::backward && op.layer == 1 && op.name == "attention qkv dW") break;
      last = op.name;
    }
    return last;
  };
  EXPECT_EQ(behind({}), "all_to_all gradient combine");
  EXPECT_EQ(behind(with_whole_blocks(program, {})), "all_to_all gradient combine");
}

TEST(RestoreBlock, RepeatsNoCommunicationAndNoGate) {
  const Model model = small_model(DType::f32);
  const Program whole = build_iteration(model, make_groups({1, 2, 2, 2}), 0);
  const Program program = apply(whole, restored(model, RestoreDense::recompute));
  EXPECT_GT(program.ops.size(), whole.ops.size());
  for (const Op& op : program.ops) {
    if (!is_repeated(op)) continue;
    EXPECT_FALSE(is_communication(op)) << op.name;
    EXPECT_EQ(op.phase, Phase::backward);
    EXPECT_FALSE(uses_routed_rows(program, op)) << op.name;
  }
}

TEST(RestoreBlock, IsRefusedWhereThereIsNoSuchBlock) {
  const Program program = build_iteration(small_model(DType::f32), make_groups(1, 1), 0);
  EXPECT_THAT(
      [&] {
        apply(program, RestoreBlock{7, RestoreDense::offload});
      },
      ThrowsMessage<Refusal>(HasSubstr("expected one of layers 0, 1")));
}

TEST(RestoreBlock, IsADecisionOfScheduleFiles) {
  const Schedule schedule = restored(small_model(DType::f32), RestoreDense::offload);
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  const Schedule whole{"",
                       {RestoreBlock{1, RestoreDense::recompute, RestoreCommunication::repeat}}};
  EXPECT_THAT(to_json(whole), HasSubstr(R"("communication": "repeat")"));
  EXPECT_EQ(schedule_from_json(to_json(whole)), whole);
}

}  // namespace
}  // namespace moe::restore_block_test
