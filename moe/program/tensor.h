#pragma once

#include <cstdint>
#include <string>

/// What a Program computes on: named two-dimensional tensors, some of whose row counts are known
/// only once the gate has spoken.
namespace moe {

enum class DType : std::uint8_t { f32, f64, i32 };

constexpr int bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

/// How long a tensor lives and who fills it.
enum class Role : std::uint8_t {
  input,      ///< token ids, written before each iteration
  parameter,  ///< lives over iterations
  gradient,   ///< of a parameter; lives over iterations, first write of each iteration overwrites
  optimizer_state,  ///< lives over iterations
  result,           ///< scalars read after each iteration
  activation,       ///< lives from its first write to its last read within one iteration
};

/// What the leading dimension counts.
enum class Rows : std::uint8_t {
  fixed,     ///< Tensor::rows, known when the Program is built
  sent,      ///< token copies that this rank's gate sends into MoE layer Tensor::layer
  received,  ///< token copies that this rank's experts of MoE layer Tensor::layer receive
};

using TensorId = int;

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  Role role = Role::activation;
  Rows rows_are = Rows::fixed;
  std::int64_t rows =
      1;  ///< for sent and received: the largest count capacity allows, 0 when dropless
  std::int64_t columns = 1;
  int layer = -1;  ///< the MoE layer whose Routing binds the rows; -1 for fixed rows
};

/// The index-th of `count` equal shares of a tensor's rows, [index/count, (index+1)/count).
/// Rows bound by routing are shared out expert by expert, see RowLayout.
struct Slice {
  int index = 0;
  int count = 1;
  friend bool operator==(const Slice&, const Slice&) = default;
};

constexpr bool overlap(Slice a, Slice b) {
  return static_cast<std::int64_t>(a.index) * b.count <
             static_cast<std::int64_t>(b.index + 1) * a.count &&
         static_cast<std::int64_t>(b.index) * a.count <
             static_cast<std::int64_t>(a.index + 1) * b.count;
}

/// First row of the slice when `rows` rows are shared out; slice_begin(rows, {i + 1, n}) is its
/// end.
constexpr std::int64_t slice_begin(std::int64_t rows, Slice slice) {
  return rows * slice.index / slice.count;
}
constexpr std::int64_t slice_end(std::int64_t rows, Slice slice) {
  return rows * (slice.index + 1) / slice.count;
}

/// A slice of a tensor, as an op reads or writes it.
struct Use {
  TensorId tensor = -1;
  Slice slice{};
};

}  // namespace moe
