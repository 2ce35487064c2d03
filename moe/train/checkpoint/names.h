#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

/// The tensors of a model under names that no layout changes.
namespace moe {

/// What the name of a master has after that of its parameter.
inline constexpr std::string_view kMaster = ".master";

/// A matrix of the whole model, of which this rank holds a part or all: a parameter or a state of
/// the optimizer; of experts, that of one expert.
struct NamedTensor {
  /// "block0.attention.qkv.weight", "block1.experts.up.weight.3" of expert 3; with the name of the
  /// state after it: "block1.experts.up.weight.3.first_moment". Of a remainder, the master that it
  /// is of: "block1.experts.up.weight.3.master".
  std::string name;
  std::string state_of{};              ///< of a state, the name of its parameter's matrix
  TensorId tensor = -1;                ///< where this rank has its part
  DType dtype = DType::f32;            ///< in a checkpoint
  std::size_t parameter = 0;           ///< the place in Program::parameters
  std::int64_t held_block = 0;         ///< the block of the rank's tensor
  std::int64_t turn = 0;               ///< its place among all, alike on ranks with other experts
  std::int64_t rows = 0, columns = 0;  ///< of the whole matrix
};

/// All that the parameters of a stage's Program hold here, in one order on ranks that hold the same
/// experts. Gradients are not among them: every iteration writes them anew.
std::vector<NamedTensor> named_tensors(const Program& program);

/// "F32"
std::string_view stored_type(DType dtype);

/// The columns that a rank holds of the matrix, those of a state as those of its parameter.
std::int64_t columns_of(const Program& program, const NamedTensor& named);

/// The bytes of the block that a rank holds. `tensor` is all of the rank's tensor as a checkpoint has
/// it (train/shared_states.h).
std::span<std::byte> block_bytes(const Program& program, const NamedTensor& named,
                                 std::span<std::byte> tensor);

/// Copies the part of a block that `shard` says, `columns` wide, into the whole matrix, or out of
/// it.
void put_into_whole(const Shard& shard, std::int64_t columns, int bytes_of_element,
                    std::span<const std::byte> part, std::span<std::byte> whole);
void take_from_whole(const Shard& shard, std::int64_t columns, int bytes_of_element,
                     std::span<const std::byte> whole, std::span<std::byte> part);

/// The shard of the `index`-th rank of those that share the blocks of `shard`, all in equal parts.
Shard shard_of_sharer(Shard shard, std::int64_t columns, int index);

}  // namespace moe
