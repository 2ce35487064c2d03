#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "moe/kernels/counter_random.h"
#include "moe/kernels/device.h"
#include "moe/kernels/initial_values.h"
#include "moe/kernels/view.h"

/// Initial values, worked out where they lie.
namespace moe {

/// The key of the initial values of one parameter.
MOE_BODY std::uint64_t parameter_key(std::int64_t seed, std::uint64_t name_hash) {
  return mix(mix(static_cast<std::uint64_t>(seed)) ^ name_hash);
}

/// Standard normal; `element` is a place in the whole parameter. The same bits everywhere.
MOE_BODY double initial_normal(std::uint64_t key, std::int64_t element) {
  return normal(mix(key ^ mix(static_cast<std::uint64_t>(element))));
}

/// Adjoining columns of a rank that adjoin in the whole parameter, too.
struct ColumnRun {
  std::int64_t begin, end;
  std::int64_t shift;  ///< from a rank's column to that of the whole parameter
};

/// As whole_element(): the columns of a rank, in runs.
inline std::vector<ColumnRun> column_runs(const Shard& shard, std::int64_t columns) {
  if (shard.column_groups.empty()) return {{0, columns, shard.first_column}};
  std::vector<ColumnRun> runs;
  std::int64_t begin = 0, group_begin = 0;
  for (const std::int64_t width : shard.column_groups) {
    const std::int64_t held = width * columns / shard.of_columns;
    const std::int64_t first = group_begin + width * shard.first_column / shard.of_columns;
    runs.push_back({begin, begin + held, first - begin});
    begin += held;
    group_begin += width;
  }
  return runs;
}

/// Draws the columns of one run in rows of consecutive blocks, from the rank's row `first` on. A
/// team per row.
template <class Stored>
struct NormalRowsBody {
  Stored* out;  ///< the tensor
  std::uint64_t key;
  double deviation;
  ColumnRun run;
  ElementRange held;
  std::int64_t columns, first;
  std::int64_t skipped_blocks;  ///< how many more blocks are before a row in the whole parameter
  std::int64_t block_rows, first_row, of_rows, of_columns;

  template <class Team>
  MOE_BODY void operator()(Team& team, std::int64_t i) const {
    const std::int64_t row = first + i;
    const std::int64_t whole_row =
        (skipped_blocks + row / block_rows) * of_rows + first_row + row % block_rows;
    const std::int64_t before = row * columns - held.begin;  // elements of the tensor, may be < 0
    const std::int64_t begin = run.begin > -before ? run.begin : -before;
    const std::int64_t end = run.end < held.count - before ? run.end : held.count - before;
    const std::int64_t place = whole_row * of_columns + run.shift + begin;
    Stored* const to = out + before + begin;
    const std::uint64_t own_key = key;
    const double scale = deviation;
    team.for_each(end - begin, [=](std::int64_t c) {
      const double value = scale * initial_normal(own_key, place + c);
      to[c] = static_cast<Stored>(static_cast<Wide<Stored>>(value));
    });
  }
};

template <class Stored>
struct ConstantBody {
  Stored* out;
  Stored value;
  MOE_BODY void operator()(std::int64_t i) const { out[i] = value; }
};

/// Gives the elements of a tensor their initial values. The tensor is of type Stored.
template <class Stored, class Exec>
void fill(Exec& exec, const View& tensor, const InitialValues& values) {
  Stored* const out = data_of<Stored>(tensor);
  const std::int64_t count = count_of(tensor);
  if (values.standard_deviation == 0) {
    exec.elements(count, ConstantBody<Stored>{
                             out, static_cast<Stored>(static_cast<Wide<Stored>>(values.constant))});
    return;
  }
  const Shard& shard = values.shard;
  const ElementRange held = values.held;
  if (held.count > count) throw std::logic_error("fill: more initial values than elements");
  exec.elements(count - held.count, ConstantBody<Stored>{out + held.count, Stored(0.0f)});
  const std::vector<ColumnRun> runs = column_runs(shard, values.columns);
  const auto block_at = [&](std::int64_t i) {
    return shard.blocks.empty() ? shard.first_block + i
                                : shard.blocks.at(static_cast<std::size_t>(i));
  };
  // The rank's rows that have elements among those held, in runs of consecutive blocks.
  std::int64_t row = held.begin / values.columns;
  const std::int64_t end = (held.begin + held.count + values.columns - 1) / values.columns;
  while (row < end) {
    const std::int64_t block = row / shard.block_rows;
    std::int64_t next = block + 1;
    while (next * shard.block_rows < end && block_at(next) == block_at(next - 1) + 1) ++next;
    const std::int64_t stop = std::min(end, next * shard.block_rows);
    for (const ColumnRun& run : runs) {
      exec.rows(
          stop - row, values.columns,
          NormalRowsBody<Stored>{out, values.key, values.standard_deviation, run, held,
                                 values.columns, row, block_at(block) - block, shard.block_rows,
                                 shard.first_row, shard.of_rows, shard.of_columns});
    }
    row = stop;
  }
}

/// As fill(), by the type of the tensor. Throws std::logic_error for integers.
template <class Exec>
void fill_any(Exec& exec, const View& tensor, const InitialValues& values) {
  switch (tensor.dtype) {
    case DType::f32:
      return fill<float>(exec, tensor, values);
    case DType::f64:
      return fill<double>(exec, tensor, values);
    case DType::bf16:
      return fill<Bf16>(exec, tensor, values);
    case DType::remainder:
      return fill<Bf16Remainder>(exec, tensor, values);
    case DType::i32:
      break;
  }
  throw std::logic_error("fill: a tensor of integers");
}

}  // namespace moe
