#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "moe/passes/stage_orders.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// The order in which ranks work on micro-batches.
enum class MicroBatchOrder : std::uint8_t {
  gpipe,  ///< all forward passes, then all backward passes  [GPipe, 2.3]
  /// A stage runs as many forward passes as there are stages after it, then one forward and one
  /// backward pass in turn.  [PipeDream-Flush, also called 1F1B]
  one_f_one_b,
  /// The backward pass of one micro-batch runs in turn with the forward pass of the next: one
  /// computes while rows of the other travel.
  /// [Megatron-Core's batch-level overlap; DeepSeek's DualPipe, on one stage]
  interleaved,
  /// As 1F1B, with the gradients of weights as a pass of their own, which a stage runs where it
  /// would wait (zero_bubble_orders). Stages may have their blocks in a V (ChunkPath::v).
  zero_bubble,
  /// 1F1B through several chunks of blocks in each stage, which place_blocks makes in turn
  /// (interleaved_orders). `interleaved` is of passes on one stage.
  interleaved_stages,
  /// The forward passes of a group of micro-batches in turn, then their backward passes in turn:
  /// one computes, attention too, while rows of the others travel. Micro-batches are the parts of a
  /// batch that FlowMoE cuts.  [FlowMoE (arXiv 2510.00207)]
  in_groups,
};

/// Decides that order. Whatever it is, the gradients of micro-batches are added up from the first
/// to the last.
struct OrderMicroBatches {
  static constexpr std::string_view name = "order_micro_batches";
  static constexpr std::string_view description =
      "chooses the order in which micro-batches pass the pipeline";
  static constexpr bool changes_results = false;
  MicroBatchOrder order = MicroBatchOrder::one_f_one_b;
  /// Of zero_bubble: the most micro-batches whose activations a stage keeps; 0 = as many as there
  /// are stages, which is the memory of 1F1B. ZB-H1 has that, ZB-H2 twice as many.
  int in_flight = 0;
  int group_size = 0;  ///< of in_groups: micro-batches; 0 = all
  /// Of orders over stages: how long the passes take through a chunk, one entry for each stage, and
  /// how long rows take to the next stage, in any unit. Empty: one unit for each pass, two for
  /// those of the last stage of a V.
  std::vector<PassTimes> times{};
  std::int64_t pass_on_time = 0;
  friend auto operator<=>(const OrderMicroBatches&, const OrderMicroBatches&) = default;
  static OrderMicroBatches read(const InputObject& input);
};
void write(nlohmann::json& object, const OrderMicroBatches& ordering);
std::string subject(const OrderMicroBatches&);

/// Runs after the decisions that cut ops. A stage's ops of one micro-batch, phase and chunk of
/// blocks (place_blocks) stay together. In zero_bubble those that compute gradients of weights
/// (separate_weight_gradients) are apart from the other ops of backward. The ops of all stages are
/// merged in the order in which they would run if passes took as long as `times` says. Rows are
/// passed on right after the ops that make them. So all ranks have one order, in which no two
/// stages can wait for each other.
///
/// On the compute stream, a stage receives the rows of its next micro-batch before it works on the
/// present one; assign pass_on to a stream of its own to avoid that.
///
/// Passes of interleaved (backward first) and of in_groups (in the order of micro-batches) take
/// turns at each exchange of routed rows: one pass runs up to and including its next exchange, then
/// the next pass. Assign exchanges to a stream of their own.
///
/// Throws Refusal where there is one micro-batch, where another order was given before, where
/// `times` are of another number of stages, for interleaved and in_groups also where there are
/// several stages, for in_groups where a group is larger than all micro-batches, for
/// interleaved_stages where these do not have as many chunks in turn or do not divide the
/// micro-batches, and for other orders where a stage has several chunks, unless these are the V of
/// zero_bubble.
Program apply(Program program, const OrderMicroBatches& ordering);

}  // namespace moe
