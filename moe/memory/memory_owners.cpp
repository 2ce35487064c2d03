#include "moe/memory/memory_owners.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <variant>

#include "moe/rows/groups.h"

namespace moe {
namespace {

/// An op's write to a tensor, and the tensor that it would be a copy of.
struct Write {
  int op = 0;
  Slice slice;
  std::optional<TensorId> of;
};

/// The tensor whose rows the op passes on as they are, all in the places that they have.
std::optional<TensorId> passed_on(const Program& program, const Op& op) {
  const auto* exchange = std::get_if<AllToAll>(&op.kind);
  if (exchange == nullptr || group_size(program.groups, exchange->group) != 1) return std::nullopt;
  const Use &in = op.reads[0], &out = op.writes[0];
  const Tensor &from = program.tensors[in.tensor], &to = program.tensors[out.tensor];
  const auto holds_all = [](const Tensor& tensor) {
    return tensor.role == Role::activation && tensor.pool == Pool::device && tensor.windows == 1;
  };
  const bool fits = holds_all(from) && holds_all(to) && in.slice == out.slice &&
                    from.dtype == to.dtype && from.rows == to.rows && from.columns == to.columns &&
                    from.layer == to.layer && from.micro_batch == to.micro_batch &&
                    from.part == to.part;
  return fits ? std::optional(in.tensor) : std::nullopt;
}

}  // namespace

std::vector<TensorId> memory_owners(const Program& program) {
  std::vector<std::vector<Write>> writes(program.tensors.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    for (const Use& use : op.writes) {
      writes[use.tensor].push_back({static_cast<int>(i), use.slice, passed_on(program, op)});
    }
  }
  std::vector<TensorId> owners(program.tensors.size());
  std::iota(owners.begin(), owners.end(), 0);
  // What an exchange reads has been written, so an owner is settled before those that lie in it.
  for (const Op& op : program.ops) {
    for (const Use& out : op.writes) {
      const std::optional<TensorId> from = passed_on(program, op);
      const std::vector<Write>& all = writes[out.tensor];
      const bool passes_all =
          from && std::ranges::all_of(all, [&](const Write& write) {
            return write.of == from &&
                   std::ranges::none_of(writes[*from], [&](const Write& before) {
                     return before.op > write.op && overlap(before.slice, write.slice);
                   });
          });
      if (passes_all) owners[out.tensor] = owners[*from];
    }
  }
  return owners;
}

}  // namespace moe
