#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "moe/rows/row_layout.h"
#include "moe/rows/tensor.h"

/// The collective calls of a Communicator as plain data. A new one is a
/// struct and an alternative here; a communicator that does not carry it out does not compile.
///
/// n = ranks of the group. Each call on an array names `from`, which it reads, and `to`, which it
/// writes, and how many elements of either on this rank. In place, both are the same.
namespace moe::collective {

/// Rows of `row_bytes` each: segment i to peer p arrives as the i-th segment from this rank at p.
/// Segments without rows are not sent. Segments to oneself are copied.
struct AllToAllV {
  static constexpr std::string_view name = "all_to_all_v";
  const std::byte* from = nullptr;
  std::span<const Segment> send{};
  std::byte* to = nullptr;
  std::span<const Segment> receive{};
  std::int64_t row_bytes = 0;
};

/// to[count] = sum over ranks of from[count], on every rank, in place.
struct AllReduce {
  static constexpr std::string_view name = "all_reduce";
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  std::int64_t read_count(int, int) const { return count; }
  std::int64_t written_count(int, int) const { return count; }
};

/// to[n][count] = from[count] of each rank.
struct AllGather {
  static constexpr std::string_view name = "all_gather";
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  std::int64_t read_count(int, int) const { return count; }
  std::int64_t written_count(int, int ranks) const { return count * ranks; }
};

/// to[count] = sum over ranks of from[rank][count], of from[n][count].
struct ReduceScatter {
  static constexpr std::string_view name = "reduce_scatter";
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  std::int64_t read_count(int, int ranks) const { return count * ranks; }
  std::int64_t written_count(int, int) const { return count; }
};

/// to[count] on every other rank = from[count] of the root, in place.
struct Broadcast {
  static constexpr std::string_view name = "broadcast";
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  int root = 0;
  std::int64_t read_count(int rank, int) const { return rank == root ? count : 0; }
  std::int64_t written_count(int rank, int) const { return rank == root ? 0 : count; }
};

/// to[count] on the root = sum over ranks of from[count]. Other ranks need no `to`. On the root it
/// may be `from`.
struct Reduce {
  static constexpr std::string_view name = "reduce";
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  int root = 0;
  std::int64_t read_count(int, int) const { return count; }
  std::int64_t written_count(int rank, int) const { return rank == root ? count : 0; }
};

/// Returns when every rank has called it.
struct Barrier {
  static constexpr std::string_view name = "barrier";
};

using Call =
    std::variant<AllToAllV, AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, Barrier>;

/// Throws std::invalid_argument where a call names a root outside the group.
template <typename OneCall>
void require_root(const OneCall& what, int ranks) {
  if constexpr (requires { what.root; }) {
    if (what.root < 0 || what.root >= ranks) {
      throw std::invalid_argument(
          fmt::format("{}: root {} of {} ranks", what.name, what.root, ranks));
    }
  }
}

}  // namespace moe::collective
