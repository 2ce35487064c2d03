#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "moe/communicator/collective_call.h"
#include "moe/communicator/gpu_cluster.h"
#include "moe/program/op.h"
#include "moe/rows/element_share.h"
#include "moe/rows/row_layout.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Seconds that a wait for other ranks may last where nothing else is said.
inline constexpr double kDefaultTimeLimit_s = 60;

/// Where and under what name a collective runs.
struct CallContext {
  /// The device stream that orders this call with others; nullptr on the host.
  void* native_stream = nullptr;
  /// The same stream by its name in the Program: copies to and from a device go there.
  Stream stream = Stream::compute;
  /// How long this call may wait for other ranks.
  double time_limit_s = kDefaultTimeLimit_s;
  /// What error messages call it: "all_to_all dispatch (layer 3, chunk 1/2)".
  std::string what{};
};

/// A group of ranks that communicate. Every member makes the same calls in the same order, one at a
/// time; each stream of a runner has a communicator of its own, made by split(), because different
/// communicators may be used from different threads at the same time.
///
/// Host communicators return when the call has finished; those of devices return when the call is
/// enqueued on the native stream. Waits test and sleep, never spin. A wait that exceeds its limit throws
/// TimeLimit and names the ranks that it waited for; the other members then throw
/// CommunicationError.
class Communicator {
 public:
  const int rank;  ///< this process among the members, from 0
  const int size;  ///< number of members

  Communicator(int rank, int size) : rank(rank), size(size) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Carries out one call (collective_call.h says what each does).
  virtual void run(const collective::Call& what, const CallContext& call) = 0;

  // The same calls by name. Counts are elements of dtype.
  void all_to_all_v(const std::byte* from, std::span<const Segment> send, std::byte* to,
                    std::span<const Segment> receive, std::int64_t row_bytes,
                    const CallContext& call) {
    run(collective::AllToAllV{from, send, to, receive, row_bytes}, call);
  }
  void all_reduce(void* data, std::int64_t count, DType dtype, const CallContext& call) {
    run(collective::AllReduce{{data, data, count, dtype}}, call);
  }
  void all_gather(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                  const CallContext& call) {
    run(collective::AllGather{{from, to, count_per_rank, dtype}}, call);
  }
  void reduce_scatter(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                      const CallContext& call) {
    run(collective::ReduceScatter{{from, to, count_per_rank, dtype}}, call);
  }
  void broadcast(void* data, std::int64_t count, DType dtype, int root, const CallContext& call) {
    run(collective::Broadcast{{data, data, count, dtype}, root}, call);
  }
  void reduce(const void* from, void* to, std::int64_t count, DType dtype, int root,
              const CallContext& call) {
    run(collective::Reduce{{from, to, count, dtype}, root}, call);
  }
  void chain_broadcast(std::byte* data, std::span<const collective::Chain> chains, DType dtype,
                       const CallContext& call) {
    run(collective::ChainBroadcast{{data, chains, dtype}}, call);
  }
  void chain_reduce(std::byte* data, std::span<const collective::Chain> chains, DType dtype,
                    const CallContext& call) {
    run(collective::ChainReduce{{data, chains, dtype}}, call);
  }
  void reduce_shares(std::byte* data, std::span<const ElementRange> arrays, DType dtype,
                     const CallContext& call) {
    run(collective::ReduceShares{{data, arrays, dtype}}, call);
  }
  void gather_shares(std::byte* data, std::span<const ElementRange> arrays, DType dtype,
                     const CallContext& call) {
    run(collective::GatherShares{{data, arrays, dtype}}, call);
  }
  void barrier(const CallContext& call) { run(collective::Barrier{}, call); }

  /// A new communicator for these ranks of this one: ascending, this rank among them. Every rank
  /// of this communicator calls it, each with the group that it belongs to.
  virtual std::unique_ptr<Communicator> split(std::span<const int> ranks) = 0;

  /// Whether buffers must be host memory.
  virtual bool on_host() const { return true; }

  /// Whether calls wait for other ranks on the device, so that all ranks must enqueue those of all
  /// communicators in one order (issue_order.h).
  virtual bool needs_issue_order() const { return false; }

  /// Bytes that this rank has sent to other ranks of the group since construction. Copies to itself
  /// do not count, nor does what groups made by split() send. Ask between calls.
  std::int64_t sent_bytes() const { return sent_bytes_; }

  /// By member: when bytes of it arrived last, in seconds of steady_clock; 0 where it is on this
  /// node. Empty where that is not known: only messages over MPI tell. Ask between calls.
  std::span<const double> arrived_s() const { return arrived_s_; }

 protected:
  std::int64_t sent_bytes_ = 0;
  std::span<const double> arrived_s_;
};

/// Runs `body` on `ranks` threads of this process, each with its communicator, and returns when all
/// have ended. Rethrows the first exception of any rank after the others were told and have ended.
/// (local.cpp)
void run_local_ranks(int ranks, const std::function<void(Communicator&)>& body);

/// A group of one rank, which needs neither MPI nor threads. (local.cpp)
std::unique_ptr<Communicator> make_solo_communicator();

/// How long MPI may take to bring the ranks of a job together.
inline constexpr double kDefaultStartLimit_s = 120;

/// The MPI world of this process. The first call initialises MPI for serialized thread use. Where
/// the ranks are not together after start_limit_s, the process says who is missing and exits with
/// 124, because there is no other way out of MPI's start. Throws Unavailable in a build without
/// MPI.
std::unique_ptr<Communicator> make_mpi_world(double start_limit_s = kDefaultStartLimit_s);
/// Whether this build has MPI.
bool has_mpi();
/// "Open MPI v4.1.4", or "" in a build without MPI.
std::string mpi_version();
/// Finalises MPI where it was initialised. To be called once, at the end of main.
void finalize_mpi();
/// Ends the whole job with this exit code, or this process alone where MPI was not initialised.
[[noreturn]] void abort_job(int exit_code);

class Backend;
/// NCCL over the ranks of `host`, through which it starts. Each rank has a device, that of
/// `backend`, and NCCL watches the waits of that backend. The result must outlive the communicators
/// split off it, and `backend` must outlive the result. Throws Unavailable in a build without NCCL.
///
/// All of them fail together: a failure or a time limit in one, or an exception that destroys one,
/// aborts all. Every wait lasts at most `time_limit_s`, and so do their ends together. Different
/// streams may use different ones at the same time if every rank issues their calls in the same
/// order (issue_order.h).
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, Backend& backend,
                                                     int device, double time_limit_s = 60);
/// Whether this build has NCCL.
bool has_nccl();

/// Ranks that are threads of this process and share a device, over `host`, whose ranks are those of
/// `cluster`. Calls return when they are enqueued on the native stream. Adds in the order of host
/// communicators, with their bits. Throws Unavailable where links are paced and the driver cannot
/// (one_gpu/).
std::unique_ptr<Communicator> make_gpu_cluster_communicator(std::unique_ptr<Communicator> host,
                                                            const GpuCluster& cluster, int device,
                                                            double time_limit_s = 60);

/// Lets a host communicator work on buffers of a device, through pinned host memory. (staged.cpp)
std::unique_ptr<Communicator> make_staged_communicator(std::unique_ptr<Communicator> host,
                                                       Backend& backend);

/// How far rank 0's steady clock is ahead of this rank's.
struct ClockOffset {
  double offset_s = 0;  ///< this is added to the time of this rank
  double error_s = 0;   ///< as exact as this: half of round trips, added up; infinite: not known
};
ClockOffset measure_clock_offset(Communicator& world, double time_limit_s = kDefaultTimeLimit_s,
                                 int rounds = 32);

}  // namespace moe
