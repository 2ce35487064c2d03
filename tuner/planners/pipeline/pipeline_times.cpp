#include "tuner/planners/pipeline/pipeline_times.h"

#include <algorithm>

#include "moe/passes/exchange_end.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// Sums over the ops of a pipeline.
struct Sums {
  int chunks = 1;
  double exchange_s = 0, gather_s = 0, scatter_s = 0, expert_s = 0, reduced_s = 0, trailing_s = 0;
};

double& sum_for(Sums& sums, const moe::Op& op) {
  if (std::holds_alternative<moe::GatherRows>(op.kind)) return sums.gather_s;
  if (std::holds_alternative<moe::ScatterRows>(op.kind) || moe::ends_exchange(op)) {
    return sums.scatter_s;
  }
  return moe::is_communication(op) ? sums.exchange_s : sums.expert_s;
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
  std::map<PipelineOf, Sums> sums;
  std::map<PipelineOf, PipelineTimes> times;
  const bool apart = beside(program);
  std::map<int, Sums*> open_in;  // [stage]: a pipeline between dispatch and combine
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    const double seconds = alone_s[i];
    Sums*& open = open_in[op.stage];
    if (moe::reduces_gradients(op) && open) {
      open->reduced_s += seconds;
    }
    if (!belongs_to_pipeline(program, op)) continue;
    moe::RoutedLayer layer = moe::routed_layer(op);
    layer.part = 0;  // parts of the batch go through a pipeline like chunks
    const auto entry = sums.try_emplace({layer, op.phase}).first;
    entry->second.chunks = moe::share_of(op).count;
    sum_for(entry->second, op) += seconds;
    entry->second.trailing_s = moe::is_communication(op) ? 0 : entry->second.trailing_s + seconds;
    if (moe::direction_of(op) == moe::Direction::dispatch) open = &entry->second;
    if (moe::direction_of(op) == moe::Direction::combine) open = nullptr;
  }
  for (const auto& [where, sum] : sums) {
    // Each chunk has a dispatch and a combine, in however many ops.
    const double inside_s = sum.gather_s + sum.scatter_s;
    const double exchange_s = sum.exchange_s + (apart ? 0 : inside_s);
    PipelineTimes& one = times[where];
    one.chunks = sum.chunks;
    one.chunk.a2a = exchange_s / (2 * sum.chunks);
    if (apart) {
      one.chunk.ag = sum.gather_s / sum.chunks;
      one.chunk.rs = sum.scatter_s / sum.chunks;
    }
    one.chunk.exp = sum.expert_s / sum.chunks;
    one.gar_s = sum.reduced_s;
    one.trailing_s = sum.trailing_s;
  }
  return times;
}

std::map<PipelineOf, PipelineTimes> pipeline_times(const Situation& situation,
                                                   const moe::Schedule& schedule) {
  const auto [program, alone_s] = timed(situation, schedule);
  return pipeline_times(program, alone_s);
}

}  // namespace tuner
