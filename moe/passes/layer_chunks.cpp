#include "moe/passes/layer_chunks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "moe/passes/pipeline_split.h"

namespace moe {
namespace {

ChunkOps in_stages(const Program& program, std::vector<Op> ops) {
  ChunkOps chunk;
  const auto last_dispatch = std::find_if(ops.rbegin(), ops.rend(), [](const Op& op) {
    return direction_of(op) == Direction::dispatch;
  });
  const auto sent = static_cast<std::size_t>(ops.rend() - last_dispatch);
  bool returns = false;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto direction = direction_of(ops[i]);
    returns = returns || direction == Direction::combine;
    const bool on_received =
        std::any_of(ops[i].reads.begin(), ops[i].reads.end(),
                    [&](const Use& use) { return is_received(program, ops[i].layer, use); });
    auto& stage = i < sent      ? chunk.send
                  : !returns    ? chunk.compute
                  : direction   ? chunk.back
                  : on_received ? chunk.weights
                                : chunk.home;
    stage.push_back(std::move(ops[i]));
  }
  return chunk;
}

}  // namespace

bool writes_any_of(const Op& op, const std::set<TensorId>& tensors) {
  return std::any_of(op.writes.begin(), op.writes.end(),
                     [&](const Use& use) { return tensors.contains(use.tensor); });
}

bool is_received(const Program& program, int layer, const Use& use) {
  const Tensor& tensor = program.tensors[use.tensor];
  return tensor.rows_are == Rows::received && tensor.layer == layer;
}

std::vector<Op> all_of(const ChunkOps& chunk) {
  std::vector<Op> ops;
  for (const auto* stage :
       {&chunk.send, &chunk.compute, &chunk.back, &chunk.weights, &chunk.home}) {
    ops.insert(ops.end(), stage->begin(), stage->end());
  }
  return ops;
}

LayerChunks take_chunks(const Program& program, std::span<const std::size_t> places,
                        OpEdits& edits) {
  LayerChunks taken;
  std::map<int, std::vector<Op>> by_chunk;
  for (const std::size_t place : places) {
    const Op& op = program.ops[place];
    if (!follows_routed_rows(program, op)) continue;
    if (by_chunk.empty()) taken.place = place;
    std::vector<Op>& ops = by_chunk[op.chunk.index];
    ops.push_back(edits.take(place));
  }
  for (auto& [chunk, ops] : by_chunk) taken.chunks.push_back(in_stages(program, std::move(ops)));
  return taken;
}

}  // namespace moe
