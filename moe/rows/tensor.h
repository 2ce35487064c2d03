#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "moe/rows/groups.h"

/// The named two-dimensional tensors that a Program computes on. Some of their row counts are known
/// only once the gate has routed the tokens.
namespace moe {

/// `remainder`: what an f32 has beyond the bf16 that it rounds to (kernels/bf16.h).
enum class DType : std::uint8_t { f32, f64, bf16, i32, remainder };

constexpr int bytes_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
    case DType::remainder:
      return 2;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
      return 8;
  }
  throw std::logic_error("bytes_of: no such dtype");
}

/// The type in which numbers of this type are added up: f32 for bf16, the type itself for others.
constexpr DType wide_of(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

/// "bf16"
constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::remainder:
      return "remainder";
  }
  throw std::logic_error("name_of: no such dtype");
}

/// The lifetime of a tensor, and its writer.
enum class Role : std::uint8_t {
  input,      ///< token ids, written before each iteration
  parameter,  ///< lives over iterations
  gradient,   ///< of a parameter; lives over iterations; the first write of each overwrites it
  optimizer_state,  ///< lives over iterations
  result,           ///< scalars that are read after each iteration
  activation,       ///< lives from its first write to its last read within one iteration
  /// Parameters or gradients of expert replicas; lives as long as an activation, but its rows are
  /// not tokens.
  replica,
};
constexpr bool lives_within_iteration(Role role) {
  return role == Role::activation || role == Role::replica;
}

/// The meaning of a tensor's rows.
enum class Rows : std::uint8_t {
  fixed,     ///< Tensor::rows rows, known when the Program is built
  sent,      ///< token copies that this rank's gate sends into MoE layer Tensor::layer
  received,  ///< token copies that this rank's experts of MoE layer Tensor::layer receive
  gathered,  ///< the received rows of all ranks that share this rank's experts (esp)
  // Rows between two legs of an exchange, see leg.h:
  relayed,      ///< 2DH: rows of this node for the ranks that have this rank's place in their nodes
  leader_sent,  ///< 1DH: all rows that this node sends, at its first rank
  leader_received,  ///< 1DH: all rows that this node receives, at its first rank
};

/// The memory that holds a tensor.
enum class Pool : std::uint8_t {
  device,  ///< the Backend's arena, which ops compute on
  host,    ///< the host's memory, which activations are offloaded to (ops/copy.h)
};
inline constexpr int kPoolCount = 2;

using TensorId = int;

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  Role role = Role::activation;
  Rows rows_are = Rows::fixed;
  /// Where rows_are is not `fixed`: the most rows that the capacity allows, 0 when dropless.
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  int layer = -1;       ///< the MoE layer whose routing decides the rows; -1 for fixed rows
  int micro_batch = 0;  ///< the micro-batch that the tensor belongs to
  int part = 0;         ///< the part of the micro-batch (Op::part)
  /// Where rows_are is not `fixed` and there is a capacity: the most rows that one rank sends to
  /// one expert.
  std::int64_t rows_per_pair = 0;
  /// More than 1: the tensor is a buffer for one of `windows` equal slices of received rows at a
  /// time. It holds the rows of one expert after those of the other. A Use names the slice that the
  /// buffer holds; the next slice overwrites it. `rows` then counts the rows of one slice.
  int windows = 1;
  /// The slices that use this buffer: first_window and every window_step-th after it.
  int first_window = 0, window_step = 1;
  Pool pool = Pool::device;
};

/// A share of a tensor's rows: `span` of `count` equal shares from the index-th on, that is
/// [index/count, (index+span)/count). Routed rows are shared out expert by expert, see RowLayout.
struct Slice {
  int index = 0;
  int count = 1;
  int span = 1;
  friend bool operator==(const Slice&, const Slice&) = default;
};

constexpr bool is_whole(Slice slice) { return slice.index == 0 && slice.span == slice.count; }

constexpr bool overlap(Slice a, Slice b) {
  return static_cast<std::int64_t>(a.index) * b.count <
             static_cast<std::int64_t>(b.index + b.span) * a.count &&
         static_cast<std::int64_t>(b.index) * a.count <
             static_cast<std::int64_t>(a.index + a.span) * b.count;
}

/// The first row of the slice when `rows` rows are shared out.
constexpr std::int64_t slice_begin(std::int64_t rows, Slice slice) {
  return rows * slice.index / slice.count;
}
/// The row after the last row of the slice.
constexpr std::int64_t slice_end(std::int64_t rows, Slice slice) {
  return rows * (slice.index + slice.span) / slice.count;
}

/// A slice of a tensor, as an op reads or writes it.
struct Use {
  TensorId tensor = -1;
  Slice slice{};
  /// Of the slice, which is the whole tensor, the share that the rank has among the ranks of this
  /// group (element_share.h). Ops wait for each other as if they used all of it.
  std::optional<GroupKind> shared_by{};
};

/// True where two uses of the tensor touch the same memory. All slices of a tensor with windows
/// share its memory.
constexpr bool meet(const Tensor& tensor, Slice a, Slice b) {
  return tensor.windows > 1 || overlap(a, b);
}

}  // namespace moe
