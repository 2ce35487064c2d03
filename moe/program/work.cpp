#include "moe/program/work.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

OpSizes sizes_of(const Program& program, const Op& op, const Binding& binding, const Groups& groups,
                 int rank) {
  return {program.tensors, op.reads, op.writes, routed_layer(op), op.stage, binding, groups, rank};
}

}  // namespace

Work work_of(const Program& program, const Op& op, const Binding& binding, const Groups& groups,
             int rank) {
  const OpSizes sizes = sizes_of(program, op, binding, groups, rank);
  return std::visit([&](const auto& kind) { return kind.work(sizes); }, op.kind);
}

std::vector<std::int64_t> bytes_to_peers(const Program& program, const Op& op,
                                         const Binding& binding, const Groups& groups, int rank) {
  const OpSizes sizes = sizes_of(program, op, binding, groups, rank);
  return std::visit(
      [&](const auto& kind) -> std::vector<std::int64_t> {
        if constexpr (Communicates<std::decay_t<decltype(kind)>>) {
          return kind.bytes_to_peers(sizes);
        } else {
          return {};
        }
      },
      op.kind);
}

}  // namespace moe
