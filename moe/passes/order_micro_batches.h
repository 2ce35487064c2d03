#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// In which order ranks work on micro-batches.
enum class MicroBatchOrder : std::uint8_t {
  gpipe,        ///< all forward, then all backward  [GPipe, 2.3]
  one_f_one_b,  ///< a stage as many forward as stages come behind it, then one forward, one backward, ...
                ///< [PipeDream-Flush, also called 1F1B]
  interleaved,  ///< the backward pass of one among the forward pass of the next: one computes while rows of the
  ///< other travel  [Megatron-Core's batch-level overlap; DeepSeek's DualPipe, on one stage]
};

/// Whatever the order, the gradients of micro-batches are added up from the first to the last.
struct OrderMicroBatches {
  static constexpr std::string_view name = "order_micro_batches";
  static constexpr bool changes_results = false;
  MicroBatchOrder order = MicroBatchOrder::one_f_one_b;
  friend auto operator<=>(const OrderMicroBatches&, const OrderMicroBatches&) = default;
  static OrderMicroBatches read(const InputObject& input);
};
void write(nlohmann::json& object, const OrderMicroBatches& ordering);
std::string subject(const OrderMicroBatches&);

/// Runs after what cuts ops. A stage's ops of one micro-batch and phase stay together. Stages are put
/// together as they would follow each other if forward took one time unit and backward two, rows passed on
/// behind the ops that make them: one order on all ranks, in which no two stages can wait for each other.
///
/// On the stream of computation a stage takes the rows of its next micro-batch before it works on this one: move
/// pass_on to a stream of its own.
///
/// Interleaved passes take turns behind each exchange of routed rows, backward first: what one does up to and with
/// its next exchange, then the other. Move exchanges to a stream of their own.
///
/// Throws std::invalid_argument where there is one micro-batch, or another order was given before; for interleaved
/// also where there are several stages.
Program apply(Program program, const OrderMicroBatches& ordering);

}  // namespace moe
