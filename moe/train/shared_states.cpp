#include "moe/train/shared_states.h"

#include <algorithm>
#include <cstdint>

namespace moe {
namespace {

/// The bytes of elements of the tensor.
std::span<const std::byte> bytes_in(std::span<const std::byte> whole, const ElementRange& elements,
                                    DType dtype) {
  return whole.subspan(static_cast<std::size_t>(elements.begin * bytes_of(dtype)),
                       static_cast<std::size_t>(elements.count * bytes_of(dtype)));
}

std::int64_t whole_elements(const Program& program, const Parameter& parameter) {
  const Tensor& value = program.tensors[parameter.value];
  return value.rows * value.columns;
}

}  // namespace

bool is_shared_state(const Program& program, const Parameter& parameter, TensorId tensor) {
  return parameter.shares_state && program.tensors[tensor].role == Role::optimizer_state;
}

ElementRange held_elements(const Program& program, const Parameter& parameter, TensorId tensor,
                           int rank) {
  const ElementRange all{0, whole_elements(program, parameter)};
  if (!is_shared_state(program, parameter, tensor)) return all;
  return element_share(all, index_in_group(program.groups, parameter.replicas, rank),
                       group_size(program.groups, parameter.replicas));
}

ElementRange without_empty_blocks(const Program& program, const Parameter& parameter,
                                  ElementRange held) {
  const Tensor& value = program.tensors[parameter.value];
  const std::int64_t end =
      blocks_held(parameter.shard, value.rows) * parameter.shard.block_rows * value.columns;
  if (held.begin >= end) return {};
  return {held.begin, std::min(held.count, end - held.begin)};
}

SharedStates::SharedStates(const Groups& groups, Communicator& world, double time_limit_s)
    : time_limit_s_(time_limit_s) {
  for (const GroupKind kind : {GroupKind::stage, GroupKind::data, GroupKind::expert_data}) {
    if (group_size(groups, kind) < 2) continue;
    groups_[kind] = world.split(members(groups, kind, world.rank));
  }
}

std::vector<std::byte> SharedStates::read(const Runner& runner, const Parameter& parameter,
                                          TensorId tensor) const {
  const Program& program = runner.program();
  const Tensor& held = program.tensors[tensor];
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(held.rows * held.columns * bytes_of(held.dtype)));
  runner.read(tensor, bytes);
  if (!is_shared_state(program, parameter, tensor)) return bytes;
  const ElementRange all{0, whole_elements(program, parameter)};
  const ElementRange own = held_elements(program, parameter, tensor, runner.rank());
  std::vector<std::byte> whole(static_cast<std::size_t>(all.count * bytes_of(held.dtype)));
  std::copy_n(bytes.begin(), own.count * bytes_of(held.dtype),
              whole.begin() + own.begin * bytes_of(held.dtype));
  CallContext call;
  call.time_limit_s = time_limit_s_;
  call.what = "gathering of " + held.name;
  groups_.at(parameter.replicas)->gather_shares(whole.data(), {&all, 1}, held.dtype, call);
  return whole;
}

void SharedStates::write(Runner& runner, const Parameter& parameter, TensorId tensor,
                         std::span<const std::byte> whole) {
  const Program& program = runner.program();
  const Tensor& held = program.tensors[tensor];
  const auto own =
      bytes_in(whole, held_elements(program, parameter, tensor, runner.rank()), held.dtype);
  // The shares of all ranks but the last are smaller than the tensor.
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(held.rows * held.columns * bytes_of(held.dtype)));
  std::ranges::copy(own, bytes.begin());
  runner.write(tensor, bytes);
}

}  // namespace moe
