#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

/// What a Program computes on: named two-dimensional tensors, some of whose row counts are known
/// only once the gate has spoken.
namespace moe {

enum class DType : std::uint8_t { f32, f64, i32 };

constexpr int bytes_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
      return 8;
  }
  throw std::logic_error("bytes_of: no such dtype");
}

/// How long a tensor lives and who fills it.
enum class Role : std::uint8_t {
  input,      ///< token ids, written before each iteration
  parameter,  ///< lives over iterations
  gradient,   ///< of a parameter; lives over iterations, first write of each iteration overwrites
  optimizer_state,  ///< lives over iterations
  result,           ///< scalars read after each iteration
  activation,       ///< lives from its first write to its last read within one iteration
  guest,  ///< lives as long: of an expert of another rank, parameters or their gradient; no token is in it
};
constexpr bool lives_within_iteration(Role role) {
  return role == Role::activation || role == Role::guest;
}

/// What the leading dimension counts.
enum class Rows : std::uint8_t {
  fixed,     ///< Tensor::rows, known when the Program is built
  sent,      ///< token copies that this rank's gate sends into MoE layer Tensor::layer
  received,  ///< token copies that this rank's experts of MoE layer Tensor::layer receive
  gathered,  ///< the received ones of all ranks that share this rank's experts (ESP)
  // Between two legs of an exchange, see leg.h:
  relayed,          ///< 2DH: of this node, for the ranks that have this one's place in their nodes
  leader_sent,      ///< 1DH: all that this node sends, at its first rank
  leader_received,  ///< 1DH: all that this node receives, at its first rank
};

/// Whose memory holds it.
enum class Pool : std::uint8_t {
  device,  ///< the Backend's arena, which ops compute on
  host,    ///< the host's, which copies offload to (ops/copy.h)
};
inline constexpr int kPoolCount = 2;

using TensorId = int;

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  Role role = Role::activation;
  Rows rows_are = Rows::fixed;
  std::int64_t rows = 1;  ///< not fixed: the largest count capacity allows, 0 when dropless
  std::int64_t columns = 1;
  int layer = -1;       ///< the MoE layer whose Routing binds the rows; -1 for fixed rows
  int micro_batch = 0;  ///< that it belongs to
  int part = 0;         ///< of the batch, whose routing binds the rows (Op::part)
  /// Not fixed, with a capacity: the most of them that one rank sends to one expert.
  std::int64_t rows_per_pair = 0;
  /// More than 1: it holds one of so many equal slices of received rows at a time, those of every expert one behind
  /// the other. A Use names the slice that it then holds; the next one takes its place. `rows` is of a slice.
  int windows = 1;
  /// Which of them: this one and every window_step-th behind it.
  int first_window = 0, window_step = 1;
  Pool pool = Pool::device;
};

/// `span` of `count` equal shares of a tensor's rows from the index-th on:
/// [index/count, (index+span)/count). Rows bound by routing are shared out expert by expert, see
/// RowLayout.
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

/// First row of the slice when `rows` rows are shared out, and the row behind its last.
constexpr std::int64_t slice_begin(std::int64_t rows, Slice slice) {
  return rows * slice.index / slice.count;
}
constexpr std::int64_t slice_end(std::int64_t rows, Slice slice) {
  return rows * (slice.index + slice.span) / slice.count;
}

/// A slice of a tensor, as an op reads or writes it.
struct Use {
  TensorId tensor = -1;
  Slice slice{};
};

/// True where two uses of the tensor touch the same memory: slices of a window take each other's place.
constexpr bool meet(const Tensor& tensor, Slice a, Slice b) {
  return tensor.windows > 1 || overlap(a, b);
}

}  // namespace moe
