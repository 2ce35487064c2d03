#pragma once

#include <cstdint>
#include <span>

#include "moe/communicator/mpi/messages.h"

/// The collectives of the MPI communicator, one algorithm a file. All send blocks directly from
/// their owner to whoever needs them: as few rounds as can be, because each round costs the wait of
/// a rank that tests and sleeps. n = ranks, S = bytes of the whole array; bytes are what each rank
/// sends (and receives). A switch that lets all pairs talk at once is assumed, as NICs are the
/// limit. MPI's own non-blocking collectives are no way out: waited for like this they reach a
/// quarter (reduce-scatter) to a third (broadcast) of the link, and add in another order
/// (microbench/README.md has both columns).
namespace moe {

/// 1 round; the bytes of the segments. Peers are served in the order rank + 1, rank + 2, ... so
/// that no rank is everybody's first. (mpi_all_to_all_v.cpp)
void mpi_all_to_all_v(MpiGroup& group, const std::byte* from, std::span<const Segment> send,
                      std::byte* to, std::span<const Segment> receive, std::int64_t row_bytes,
                      const CallContext& call);

/// 1 round, S (n-1)/n bytes: everybody sends its block to everybody. (mpi_all_gather.cpp)
void mpi_all_gather(MpiGroup& group, const void* from, void* to, std::int64_t count_per_rank,
                    DType dtype, const CallContext& call);

/// 1 round, S (n-1)/n bytes: everybody sends block p to rank p, which adds in rank order. In
/// pieces, so that a piece is added while the next one travels; scratch for 4 pieces from each
/// peer. (mpi_reduce_scatter.cpp)
void mpi_reduce_scatter(MpiGroup& group, const void* from, void* to, std::int64_t count_per_rank,
                        DType dtype, const CallContext& call);

/// 2 rounds, 2 S (n-1)/n bytes: reduce-scatter, then all-gather, piece by piece, so that adding and
/// both rounds overlap. Short arrays take 1 round of S (n-1) bytes: everybody gets everything.
/// Same bits on every rank. (mpi_all_reduce.cpp)
void mpi_all_reduce(MpiGroup& group, void* data, std::int64_t count, DType dtype,
                    const CallContext& call);

/// 2 rounds, S bytes from the root and S (n-2)/(n-1) from every other: piece i goes to one rank,
/// which hands it on to the rest while the next pieces travel. Short arrays and 2 ranks: 1 round,
/// S (n-1) bytes from the root. (mpi_broadcast.cpp)
void mpi_broadcast(MpiGroup& group, void* data, std::int64_t count, DType dtype, int root,
                   const CallContext& call);

/// 1 round of empty messages between all: a time limit names exactly those who did not come.
/// (mpi_barrier.cpp)
void mpi_barrier(MpiGroup& group, const CallContext& call);

}  // namespace moe
