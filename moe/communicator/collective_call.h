#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "moe/rows/element_share.h"
#include "moe/rows/row_layout.h"
#include "moe/rows/tensor.h"

/// The collective calls of a Communicator as plain data. A new one is a struct and an alternative
/// here. A communicator that does not carry it out does not compile.
///
/// n = ranks of the group. Each call on an array names the memory that it reads (`from`) and the
/// memory that it writes (`to`). Its methods say how many elements of either belong to a rank. In a
/// call in place both are the same memory.
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

/// What a call on an array reads and writes: `count` elements of `dtype`, as the call says.
struct ArrayCall {
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
};

/// to[count] = sum over ranks of from[count], on every rank, in place.
struct AllReduce : ArrayCall {
  static constexpr std::string_view name = "all_reduce";
  std::int64_t read_count(int, int) const { return count; }
  std::int64_t written_count(int, int) const { return count; }
};

/// to[n][count] = from[count] of each rank.
struct AllGather : ArrayCall {
  static constexpr std::string_view name = "all_gather";
  std::int64_t read_count(int, int) const { return count; }
  std::int64_t written_count(int, int ranks) const { return count * ranks; }
};

/// to[count] = sum over ranks of from[rank][count], of from[n][count].
struct ReduceScatter : ArrayCall {
  static constexpr std::string_view name = "reduce_scatter";
  std::int64_t read_count(int, int ranks) const { return count * ranks; }
  std::int64_t written_count(int, int) const { return count; }
};

/// to[count] on every other rank = from[count] of the root, in place.
struct Broadcast : ArrayCall {
  static constexpr std::string_view name = "broadcast";
  int root = 0;
  std::int64_t read_count(int rank, int) const { return rank == root ? count : 0; }
  std::int64_t written_count(int rank, int) const { return rank == root ? 0 : count; }
};

/// to[count] on the root = sum over ranks of from[count]. Other ranks need no `to`. On the root it
/// may be `from`.
struct Reduce : ArrayCall {
  static constexpr std::string_view name = "reduce";
  int root = 0;
  std::int64_t read_count(int, int) const { return count; }
  std::int64_t written_count(int rank, int) const { return rank == root ? count : 0; }
};

/// Elements [begin, begin + count) of one rank on a chain of ranks: a root and those that follow
/// it. The i-th chain of a call on which rank a stands before rank b is the i-th at both of them.
struct Chain {
  int before = -1;  ///< the rank before this one, towards the root; -1 on the root
  int after = -1;   ///< the rank after this one; -1 on the last
  int place = 0;    ///< how many ranks are before it; 0 on the root
  int ranks = 0;    ///< how many are on the chain
  int root = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;  ///< the same on all ranks of a chain
};

/// What a call along chains reads and writes.
struct ChainCall {
  std::byte* data = nullptr;
  std::span<const Chain> chains{};
  DType dtype = DType::f32;
};

/// On every chain, the elements of all other ranks = those of the root. Each rank passes on what
/// arrives while the rest travels.
struct ChainBroadcast : ChainCall {
  static constexpr std::string_view name = "chain_broadcast";
  static bool reads(const Chain& chain) { return chain.before < 0; }
  static bool writes(const Chain& chain) { return chain.before >= 0; }
};

/// On every chain, the elements of the root = the sum of those of all other ranks, from the last
/// to the first. They keep theirs. Each rank adds and sends what arrives while the rest travels.
struct ChainReduce : ChainCall {
  static constexpr std::string_view name = "chain_reduce";
  static bool reads(const Chain& chain) { return chain.before >= 0; }
  static bool writes(const Chain& chain) { return chain.before < 0; }
};

/// Arrays of which every rank has all and owns a share (element_share.h), as ranges of `data`. They
/// are the same on all ranks, but may lie elsewhere.
struct ShareCall {
  std::byte* data = nullptr;
  std::span<const ElementRange> arrays{};
  DType dtype = DType::f32;
};

/// In every array, a rank's share = the sum over ranks, in place. What the rest of the array holds
/// afterwards is not defined.
struct ReduceShares : ShareCall {
  static constexpr std::string_view name = "reduce_shares";
  static ElementRange read(ElementRange array, int, int) { return array; }
  static ElementRange written(ElementRange array, int rank, int ranks) {
    return element_share(array, rank, ranks);
  }
};

/// In every array, each share = that of the rank which owns it, in place.
struct GatherShares : ShareCall {
  static constexpr std::string_view name = "gather_shares";
  static ElementRange read(ElementRange array, int rank, int ranks) {
    return element_share(array, rank, ranks);
  }
  static ElementRange written(ElementRange array, int, int) { return array; }
};

/// Returns when every rank has called it.
struct Barrier {
  static constexpr std::string_view name = "barrier";
};

using Call = std::variant<AllToAllV, AllReduce, AllGather, ReduceScatter, Broadcast, Reduce,
                          ChainBroadcast, ChainReduce, ReduceShares, GatherShares, Barrier>;

/// Hands the one call that `what` holds to `carry_out`, a function of every kind of call. Throws
/// std::invalid_argument where the call names a root outside the group.
template <typename CarryOut>
void dispatch(const Call& what, int ranks, const CarryOut& carry_out) {
  std::visit(
      [&](const auto& one) {
        if constexpr (requires { one.root; }) {
          if (one.root < 0 || one.root >= ranks) {
            throw std::invalid_argument(
                fmt::format("{}: root {} of {} ranks", one.name, one.root, ranks));
          }
        }
        carry_out(one);
      },
      what);
}

}  // namespace moe::collective
