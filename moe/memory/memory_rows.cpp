#include "moe/memory/memory_rows.h"

#include <deque>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "moe/memory/tensor_memory.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"

namespace moe {
namespace {

/// The text in the database.
std::string text_of(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::parameter:
      return "parameter";
    case Role::gradient:
      return "gradient";
    case Role::optimizer_state:
      return "optimizer_state";
    case Role::result:
      return "result";
    case Role::activation:
      return "activation";
    case Role::replica:
      return "replica";
  }
  throw std::logic_error("memory rows: no such role");
}

std::string text_of(Pool pool) { return pool == Pool::host ? db::kHostPool : db::kDevicePool; }

db::Allocation allocation_row(const TensorMemory& of, int rank, int first_tensor) {
  db::Allocation row;
  row.rank = rank;
  row.tensor = first_tensor + of.tensor;
  row.offset_bytes = of.offset;
  row.bytes = of.bytes;
  if (of.first_op < 0) return row;
  row.first_op = of.first_op;
  row.last_op = of.last_op;
  row.begin_s = of.begin_s;
  row.end_s = of.end_s;
  return row;
}

}  // namespace

db::TimelineMemory memory_rows(const Program& program, const Timeline& timeline,
                               const Routing& routing, const Groups& groups,
                               std::vector<int> ranks) {
  db::TimelineMemory rows;
  const std::vector<StageProgram> stages = stage_programs(program);
  std::deque<StageTensorMemory> memory;  // a plan cannot be moved
  std::vector<int> first_tensor;         // [stage]
  for (const StageProgram& stage : stages) {
    first_tensor.push_back(static_cast<int>(rows.tensors.size()));
    for (const Tensor& tensor : stage.program.tensors) {
      rows.tensors.push_back({0, static_cast<int>(rows.tensors.size()), tensor.name,
                              text_of(tensor.role), text_of(tensor.pool)});
    }
    memory.emplace_back(stage.program, stage.op_of);
  }
  if (ranks.empty()) {
    ranks.resize(static_cast<std::size_t>(rank_count(timeline)));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  const AllRoutedRows routed(program, routing);
  for (const int rank : ranks) {
    const int stage = stage_of(groups, rank);
    const bool is_routed = memory[stage].depends_on_routing();
    const Binding binding = is_routed ? routed.bind(groups, rank) : Binding{};
    for (const TensorMemory& of : memory[stage].of_rank(binding, spans_of(timeline, rank))) {
      rows.allocations.push_back(allocation_row(of, rank, first_tensor[stage]));
    }
  }
  return rows;
}

}  // namespace moe
