#include "moe/train/checkpoint/collect.h"

#include "moe/train/checkpoint/names.h"
#include "moe/train/masters.h"

namespace moe {
namespace {

std::unique_ptr<Communicator> group_of_kind(const Groups& groups, GroupKind kind,
                                            Communicator& world) {
  if (group_size(groups, kind) == 1) return nullptr;
  return world.split(members(groups, kind, world.rank));
}

/// The parts of a block, one for each sharer, put together.
std::vector<std::byte> joined_parts(const Program& program, const NamedTensor& named,
                                    std::span<const std::byte> parts) {
  const Shard& shard = program.parameters[named.parameter].shard;
  const int element = bytes_of(named.dtype);
  const std::int64_t columns = columns_of(program, named);
  const auto part = static_cast<std::size_t>(shard.block_rows * columns * element);
  std::vector<std::byte> whole(static_cast<std::size_t>(named.rows * named.columns * element));
  for (std::size_t i = 0; i * part < parts.size(); ++i) {
    put_into_whole(shard_of_sharer(shard, columns, static_cast<int>(i)), columns, element,
                   parts.subspan(i * part, part), whole);
  }
  return whole;
}

}  // namespace

Collector::Collector(const Groups& groups, Communicator& world, double time_limit_s)
    : groups_(groups),
      rank_(world.rank),
      time_limit_s_(time_limit_s),
      tensor_(group_of_kind(groups, GroupKind::tensor, world)),
      expert_sharded_(group_of_kind(groups, GroupKind::expert_sharded, world)),
      states_(groups, world, time_limit_s) {}

Collected Collector::collect(const Runner& runner) const {
  const Program& program = runner.program();
  Collected collected;
  std::vector<std::byte> tensor_bytes;
  TensorId read = -1;
  const auto read_tensor = [&](const NamedTensor& named) {
    if (read == named.tensor) return;
    const Parameter& parameter = program.parameters[named.parameter];
    tensor_bytes = states_.read(runner, parameter, named.tensor);
    if (named.tensor == parameter.remainder) {
      tensor_bytes = masters_of(states_.read(runner, parameter, parameter.value), tensor_bytes);
    }
    read = named.tensor;
  };
  for (const NamedTensor& named : named_tensors(program)) {
    const Parameter& parameter = program.parameters[named.parameter];
    if (parameter.is_copy) continue;
    // Of the ranks with copies one writes, and of those that share the matrix with it one.
    const int replicas = group_size(groups_, parameter.replicas);
    const GroupKind sharers = sharers_of(parameter);
    const int sharing = parameter.replicas == GroupKind::stage ? 1 : group_size(groups_, sharers);
    const std::int64_t replica = named.turn % replicas, writer = named.turn / replicas % sharing;
    // All replicas together:
    if (is_shared_state(program, parameter, named.tensor)) read_tensor(named);
    if (index_in_group(groups_, parameter.replicas, rank_) != replica) continue;
    const bool writes = sharing == 1 || index_in_group(groups_, sharers, rank_) == writer;
    const bool cut = sharing > 1 && is_cut(program, parameter);
    if (!writes && !cut) continue;
    read_tensor(named);
    const auto block = block_bytes(program, named, tensor_bytes);
    std::vector<std::byte> whole;
    if (cut) {
      std::vector<std::byte> parts(block.size() * static_cast<std::size_t>(sharing));
      CallContext call;
      call.time_limit_s = time_limit_s_;
      call.what = "gathering of " + named.name;
      (sharers == GroupKind::expert_sharded ? *expert_sharded_ : *tensor_)
          .all_gather(block.data(), parts.data(),
                      static_cast<std::int64_t>(block.size()) / bytes_of(named.dtype), named.dtype,
                      call);
      if (!writes) continue;
      whole = joined_parts(program, named, parts);
    } else {
      whole.assign(block.begin(), block.end());
    }
    collected.storage.push_back(std::move(whole));
    collected.tensors.push_back(
        {named.name, std::string(stored_type(named.dtype)), {named.rows, named.columns}, {}});
  }
  for (std::size_t i = 0; i < collected.tensors.size(); ++i) {
    collected.tensors[i].bytes = collected.storage[i];
  }
  return collected;
}

}  // namespace moe
