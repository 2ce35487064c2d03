#include "moe/passes/pipeline_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace moe {
namespace {

bool uses_routed_slice(const Program& program, const Op& op) {
  return std::visit(
             [](const auto& kind) {
               using Kind = std::decay_t<decltype(kind)>;
               return std::is_same_v<Kind, Permute> || std::is_same_v<Kind, AllToAll> ||
                      std::is_same_v<Kind, ExpertLinear> ||
                      std::is_same_v<Kind, ExpertLinearInputGradient> ||
                      std::is_same_v<Kind, ExpertLinearWeightGradient> ||
                      std::is_same_v<Kind, CombineInputGradient>;
             },
             op.kind) ||
         // Activation functions are cut where they work on received rows.
         ((std::holds_alternative<Gelu>(op.kind) ||
           std::holds_alternative<GeluGradient>(op.kind)) &&
          program.tensors[op.writes[0].tensor].rows_are == Rows::received);
}

void cut(const Program& program, std::vector<Use>& uses, Slice slice) {
  for (Use& use : uses)
    if (program.tensors[use.tensor].rows_are != Rows::fixed) use.slice = slice;
}

}  // namespace

Program pipeline_split(Program program, const PipelineSplit& split) {
  const std::string what = fmt::format("pipeline_split: {} chunks, layer {} {}", split.chunks,
                                       split.layer, phase_name(split.phase));
  if (split.chunks < 1) throw std::invalid_argument(what + ": at least one chunk is needed");

  std::vector<Op> ops, first, second;
  std::size_t insert_at = 0;
  bool after_exchange = false;
  for (Op& op : program.ops) {
    if (op.layer != split.layer || op.phase != split.phase || !uses_routed_slice(program, op)) {
      // Ops that stand among the cut ones come after them all: none of the cut ones reads what they
      // write.
      ops.push_back(std::move(op));
      continue;
    }
    if (op.chunk.count != 1) throw std::invalid_argument(what + ": the layer is split already");
    if (first.empty()) insert_at = ops.size();
    (after_exchange ? second : first).push_back(std::move(op));
    after_exchange = after_exchange || std::holds_alternative<AllToAll>(first.back().kind);
  }
  if (first.empty()) throw std::invalid_argument(what + ": no experts there");

  std::vector<Op> pipeline;
  for (const std::vector<Op>* stage : {&first, &second})
    for (int c = 0; c < split.chunks; ++c)
      for (const Op& whole : *stage) {
        Op op = whole;
        op.chunk = {c, split.chunks};
        cut(program, op.reads, op.chunk);
        cut(program, op.writes, op.chunk);
        if (auto* gradient = std::get_if<ExpertLinearWeightGradient>(&op.kind))
          gradient->accumulate = gradient->accumulate || c > 0;
        pipeline.push_back(std::move(op));
      }
  ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(insert_at), pipeline.begin(),
             pipeline.end());
  program.ops = std::move(ops);
  validate(program);
  return program;
}

}  // namespace moe
