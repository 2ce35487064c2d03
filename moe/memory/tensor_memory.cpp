#include "moe/memory/tensor_memory.h"

#include <algorithm>

#include "moe/memory/memory_owners.h"
#include "moe/program/start_rule.h"

namespace moe {
namespace {

/// Sets the ops and times between which the tensor of these users is in use. False where none of
/// them has a span.
bool set_use(const std::vector<int>& users, const std::vector<OpSpan>& spans, TensorMemory& of) {
  for (const int op : users) {
    const auto span = std::ranges::lower_bound(spans, op, {}, &OpSpan::op);
    if (span == spans.end() || span->op != op) continue;
    const double end_s = span->start_s + span->duration_s;
    if (of.first_op < 0 || span->start_s < of.begin_s) of.first_op = op, of.begin_s = span->start_s;
    if (of.last_op < 0 || end_s > of.end_s) of.last_op = op, of.end_s = end_s;
  }
  return of.first_op >= 0;
}

}  // namespace

StageTensorMemory::StageTensorMemory(const Program& stage, const std::vector<int>& op_of)
    : stage_(stage),
      plan_(stage, start_rule(stage)),
      owners_(memory_owners(stage)),
      users_(stage.tensors.size()) {
  for (std::size_t op = 0; op < stage.ops.size(); ++op) {
    for (const auto* uses : {&stage.ops[op].reads, &stage.ops[op].writes}) {
      for (const Use& use : *uses) {
        std::vector<int>& users = users_[owners_[use.tensor]];
        if (users.empty() || users.back() != op_of[op]) users.push_back(op_of[op]);
      }
    }
  }
  for (std::size_t t = 0; t < stage.tensors.size(); ++t) {
    const Tensor& tensor = stage.tensors[t];
    const bool routed = tensor.rows_are != Rows::fixed && tensor.rows == 0;
    if (routed && !users_[t].empty()) depends_on_routing_ = true;
  }
}

std::vector<TensorMemory> StageTensorMemory::of_rank(const Binding& binding,
                                                     const std::vector<OpSpan>& spans) {
  if (depends_on_routing_ || !plan_.is_complete()) {
    plan_.restart();
    plan_.advance(binding);
  }
  std::vector<TensorMemory> memory;
  for (std::size_t t = 0; t < stage_.tensors.size(); ++t) {
    if (owners_[t] != static_cast<TensorId>(t)) continue;
    const bool passing = lives_within_iteration(stage_.tensors[t].role);
    TensorMemory of;
    of.tensor = static_cast<TensorId>(t);
    if (passing && !set_use(users_[t], spans, of)) continue;
    of.offset = plan_.offset(of.tensor);
    of.bytes = plan_.end(of.tensor) - of.offset;
    memory.push_back(of);
  }
  return memory;
}

}  // namespace moe
