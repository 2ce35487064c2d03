#include "moe/train/checkpoint/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "moe/program/expert_state.h"

namespace moe {
namespace {

/// Calls visit(first byte in the part, first byte in the whole, bytes) for every run of columns.
template <class Visit>
void visit_runs_of_block(const Shard& shard, std::int64_t columns, int bytes_of_element,
                         const Visit& visit) {
  std::vector<std::int64_t> groups = shard.column_groups;
  if (groups.empty()) groups = {shard.of_columns};
  for (std::int64_t row = 0; row < shard.block_rows; ++row) {
    std::int64_t place = row * columns;
    std::int64_t group_begin = (shard.first_row + row) * shard.of_columns;
    for (const std::int64_t width : groups) {
      const std::int64_t held = width * columns / shard.of_columns;
      const std::int64_t first = group_begin + width * shard.first_column / shard.of_columns;
      visit(static_cast<std::size_t>(place * bytes_of_element),
            static_cast<std::size_t>(first * bytes_of_element),
            static_cast<std::size_t>(held * bytes_of_element));
      place += held;
      group_begin += width;
    }
  }
}

std::int64_t whole_block(const Shard& shard, std::int64_t held) {
  return shard.blocks.empty() ? shard.first_block + held
                              : shard.blocks[static_cast<std::size_t>(held)];
}

}  // namespace

std::vector<NamedTensor> named_tensors(const Program& program) {
  std::vector<NamedTensor> named;
  std::int64_t turn = 0;
  for (std::size_t p = 0; p < program.parameters.size(); ++p) {
    const Parameter& parameter = program.parameters[p];
    const Shard& shard = parameter.shard;
    const Tensor& value = program.tensors[parameter.value];
    const std::int64_t blocks = blocks_held(shard, value.rows);
    for (const TensorId id : tensors_that_move(parameter)) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        std::string name = value.name;
        if (belongs_to_experts(parameter)) name += fmt::format(".{}", whole_block(shard, block));
        std::string state_of = id == parameter.value ? "" : name;
        const Tensor& tensor = program.tensors[id];
        const bool master = id == parameter.remainder;
        name += master ? kMaster : std::string_view(tensor.name).substr(value.name.size());
        named.push_back({std::move(name), std::move(state_of), id,
                         master ? DType::f32 : tensor.dtype, p, block, turn + block, shard.of_rows,
                         shard.of_columns});
      }
      turn += blocks + shard.empty_blocks;
    }
  }
  return named;
}

std::string_view stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::bf16:
      return "BF16";
    case DType::i32:
      return "I32";
    case DType::remainder:
      break;
  }
  throw std::logic_error("stored_type: a type that no file has");
}

std::int64_t columns_of(const Program& program, const NamedTensor& named) {
  return program.tensors[program.parameters[named.parameter].value].columns;
}

std::span<std::byte> block_bytes(const Program& program, const NamedTensor& named,
                                 std::span<std::byte> tensor) {
  const Parameter& parameter = program.parameters[named.parameter];
  const auto bytes = static_cast<std::size_t>(parameter.shard.block_rows *
                                              columns_of(program, named) * bytes_of(named.dtype));
  return tensor.subspan(static_cast<std::size_t>(named.held_block) * bytes, bytes);
}

void put_into_whole(const Shard& shard, std::int64_t columns, int bytes_of_element,
                    std::span<const std::byte> part, std::span<std::byte> whole) {
  visit_runs_of_block(
      shard, columns, bytes_of_element, [&](std::size_t from, std::size_t to, std::size_t bytes) {
        std::ranges::copy(part.subspan(from, bytes), whole.subspan(to, bytes).begin());
      });
}

void take_from_whole(const Shard& shard, std::int64_t columns, int bytes_of_element,
                     std::span<const std::byte> whole, std::span<std::byte> part) {
  visit_runs_of_block(
      shard, columns, bytes_of_element, [&](std::size_t to, std::size_t from, std::size_t bytes) {
        std::ranges::copy(whole.subspan(from, bytes), part.subspan(to, bytes).begin());
      });
}

Shard shard_of_sharer(Shard shard, std::int64_t columns, int index) {
  if (shard.block_rows < shard.of_rows) shard.first_row = index * shard.block_rows;
  if (columns < shard.of_columns) shard.first_column = index * columns;
  return shard;
}

}  // namespace moe
