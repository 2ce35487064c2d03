#include "tuner/planners/pipeline/pipeline_times.h"

#include <algorithm>

#include "moe/passes/exchange_end.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// The time that an op of a pipeline adds to.
double& sum_for(ChunkTimes& sums, const moe::Op& op) {
  if (std::holds_alternative<moe::GatherRows>(op.kind)) return sums.ag;
  if (std::holds_alternative<moe::ScatterRows>(op.kind) || moe::ends_exchange(op)) return sums.rs;
  return moe::is_communication(op) ? sums.a2a : sums.exp;
}

bool beside(const moe::Program& program) {
  for (const moe::Op& op : program.ops) {
    if (std::holds_alternative<moe::GatherRows>(op.kind)) {
      return op.stream == moe::Stream::intra_node;
    }
  }
  return false;
}

}  // namespace

bool belongs_to_pipeline(const moe::Program& program, const moe::Op& op) {
  if (moe::is_all_to_all(op)) return true;
  for (const auto* uses : {&op.reads, &op.writes}) {
    for (const moe::Use& use : *uses) {
      const moe::Tensor& tensor = program.tensors[use.tensor];
      if (tensor.rows_are == moe::Rows::received || tensor.rows_are == moe::Rows::gathered) {
        return true;
      }
    }
  }
  return false;
}

ChunkTimes before_combine(const PipelineTimes& times) {
  ChunkTimes chunk = times.chunk;
  chunk.exp = std::max(chunk.exp - times.trailing_s / times.chunks, 0.0);
  return chunk;
}

std::map<PipelineOf, PipelineTimes> pipeline_times(const moe::Program& program,
                                                   const std::vector<double>& alone_s) {
  std::map<PipelineOf, PipelineTimes> times;
  std::map<int, PipelineTimes*> open_in;  // [stage]: a pipeline between dispatch and combine
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    const double seconds = alone_s[i];
    PipelineTimes*& open = open_in[op.stage];
    if (moe::reduces_gradients(op) && open) open->gar_s += seconds;
    if (!belongs_to_pipeline(program, op)) continue;
    moe::RoutedLayer layer = moe::routed_layer(op);
    layer.part = 0;  // parts of the batch go through a pipeline like chunks
    PipelineTimes& one = times[{layer, op.phase}];
    one.chunks = moe::share_of(op).count;
    sum_for(one.chunk, op) += seconds;
    one.trailing_s = moe::is_communication(op) ? 0 : one.trailing_s + seconds;
    if (moe::direction_of(op) == moe::Direction::dispatch) open = &one;
    if (moe::direction_of(op) == moe::Direction::combine) open = nullptr;
  }
  const bool apart = beside(program);
  for (auto& [where, one] : times) {
    ChunkTimes& chunk = one.chunk;  // sums until here
    // Each chunk has a dispatch and a combine, in however many ops.
    chunk.a2a = (chunk.a2a + (apart ? 0 : chunk.ag + chunk.rs)) / (2 * one.chunks);
    chunk.ag = apart ? chunk.ag / one.chunks : 0;
    chunk.rs = apart ? chunk.rs / one.chunks : 0;
    chunk.exp /= one.chunks;
  }
  return times;
}

std::map<PipelineOf, PipelineTimes> pipeline_times(const Situation& situation,
                                                   const moe::Schedule& schedule) {
  const auto [program, alone_s] = timed(situation, schedule);
  return pipeline_times(program, alone_s);
}

}  // namespace tuner
