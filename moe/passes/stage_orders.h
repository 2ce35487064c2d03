#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

/// In which order the stages of a pipeline work on micro-batches, apart from any Program. An order
/// is a list of tasks for every stage. Later orders are further functions that make one.
namespace moe {

/// What a stage does with one micro-batch.
enum class Pass : std::uint8_t {
  forward,
  backward,         ///< gradients of inputs, and of weights where these have no pass of their own
  weight_gradient,  ///< gradients of weights
};

struct StageTask {
  Pass pass = Pass::forward;
  int micro_batch = 0;
  int chunk = 0;  ///< of the blocks of the stage (place_of_chunk)
  friend auto operator<=>(const StageTask&, const StageTask&) = default;
};

/// [stage]: its tasks, in its order.
using StageOrders = std::vector<std::vector<StageTask>>;

/// How rows pass the chunks of all stages forward.
enum class ChunkPath : std::uint8_t {
  in_turn,  ///< stage s of p has the chunks s, p + s, 2 p + s, ..
  /// Down the stages and back: stage s has the chunks s and 2 p - 2 - s. The last stage turns
  /// around, and has one chunk.  [DualPipeV; ZBV and V-Half of arXiv 2405.15362 and 2401.10241]
  v,
};

/// The place of a stage's chunk among the chunks of all stages, in the order in which rows pass
/// them.
int place_of_chunk(int stage, int chunk, int stages, ChunkPath path = ChunkPath::in_turn);

/// How long a stage takes for each pass of one micro-batch through a chunk, in any unit.
struct PassTimes {
  std::int64_t forward = 1, backward = 1, weight_gradient = 1;
  friend auto operator<=>(const PassTimes&, const PassTimes&) = default;
};

/// [stage]: its times. `pass_on`: how long rows take from a stage to the next.
struct PipelineTimes {
  std::vector<PassTimes> stages;
  std::int64_t pass_on = 0;
  ChunkPath path = ChunkPath::in_turn;
};

/// All forward passes, then all backward passes.  [GPipe, 2.3]
StageOrders gpipe_orders(int stages, int micro_batches);

/// Stage s of p runs p - s forward passes, then one backward and one forward pass in turn.
/// [PipeDream-Flush, also called 1F1B]
StageOrders one_f_one_b_orders(int stages, int micro_batches);

/// Interleaved 1F1B: every stage has `chunks` chunks, and micro-batches come in groups of p, which
/// go through one chunk after the other. For p stages and v chunks, forward pass k of a stage is of
///     chunk (k mod p v) div p and micro-batch (k div p v) p + k mod p
/// and backward pass k of the same micro-batch and chunk v - 1 - that. Stage s runs
/// 2 (p - s - 1) + (v - 1) p forward passes, then one forward and one backward pass in turn.
/// `stages` divides `micro_batches`.
/// [Narayanan et al. 2021 (arXiv 2104.04473) 2.2; pass numbers as in Megatron-LM's schedule, read in
/// sail-sg/zero-bubble-pipeline-parallelism, scheduler/vpp.py]
StageOrders interleaved_orders(int stages, int chunks, int micro_batches);

/// Gradients of weights are a pass of their own, which fills the time in which a stage would wait.
/// A stage keeps the activations of at most `most_in_flight` micro-batches at a time, from a forward
/// pass to the weight gradients of the same micro-batch. Clocks of all stages run; the stage that
/// can begin first begins. It takes the pass whose rows came first, and weight gradients where it
/// would wait. Eight ways are tried:
/// - of two passes that can begin at once, the backward or the forward one,
/// - weight gradients as soon as the stage waits, or only where they end before the rows come,
/// - p - s or 2 (p - s) - 1 forward passes before the first backward pass of stage s.
/// The way that ends first is the order; of several the one whose longest idle stage is idle the
/// shortest time.  [Zero bubble (arXiv 2401.10241) 3: the same choices, reconstructed as a
/// simulation of clocks]
///
/// In a V a chunk counts as half a micro-batch, that of the last stage as a whole one, and as many
/// forward passes come first as fit. Of two passes alike that of the later chunk is taken. A stage
/// keeps room for a forward pass of its later chunk, so that none waits for ever: with p
/// micro-batches in flight it is ZBV, with p / 2 + 1 about V-Half.  [reconstructed so, without the
/// paper's repeated building blocks]
StageOrders zero_bubble_orders(int stages, int micro_batches, const PipelineTimes& times,
                               int most_in_flight);

/// A task of a stage, and when it begins and ends.
struct TimedTask {
  int stage = 0;
  StageTask task;
  std::int64_t begin = 0, end = 0;
};

/// All tasks, in the order in which they would begin. A backward pass without a pass for the
/// gradients of weights takes the time of both. Throws std::logic_error where stages wait for each
/// other.
std::vector<TimedTask> in_time(const StageOrders& orders, const PipelineTimes& times);

}  // namespace moe
