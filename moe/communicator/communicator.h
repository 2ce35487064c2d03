#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "moe/program/op.h"
#include "moe/rows/row_layout.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Seconds that a wait for other ranks may last where nothing else is said.
inline constexpr double kDefaultTimeLimit_s = 60;

/// Where and under what name a collective runs.
struct CallContext {
  void* native_stream = nullptr;    ///< device stream to order with, nullptr on the host
  Stream stream = Stream::compute;  ///< the same by name, for copies to and from the device
  double time_limit_s = kDefaultTimeLimit_s;  ///< of this call
  std::string what{};  ///< for messages: "all_to_all dispatch (layer 3, chunk 1/2)"
};

/// A group of ranks that communicate. Host communicators return when the call has finished; NCCL
/// returns when it is enqueued on the native stream. One call at a time per communicator; different
/// communicators may be used from different threads at the same time (that is why streams get
/// communicators of their own by split()). Every member makes the same calls in the same order.
/// Waits test and sleep, never spin. A wait that exceeds its limit throws TimeLimit naming the
/// ranks waited for; a member that gave up makes the others throw CommunicationError. Sizes are
/// elements of dtype (f32, f64, i32); sums only over f32 and f64 and i32.
class Communicator {
 public:
  const int rank;  ///< in this group
  const int size;

  Communicator(int rank, int size) : rank(rank), size(size) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Rows of `row_bytes` each: segment i to peer p arrives as the i-th segment from this rank at p.
  /// Segments with no rows are not sent; those to oneself are copied.
  virtual void all_to_all_v(const std::byte* from, std::span<const Segment> send, std::byte* to,
                            std::span<const Segment> receive, std::int64_t row_bytes,
                            const CallContext& call) = 0;
  /// data[count] becomes the sum over ranks, in place.
  virtual void all_reduce(void* data, std::int64_t count, DType dtype, const CallContext& call) = 0;
  /// to[size][count_per_rank] from from[count_per_rank] of each rank.
  virtual void all_gather(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                          const CallContext& call) = 0;
  /// to[count_per_rank] = sum over ranks of from[rank][count_per_rank].
  virtual void reduce_scatter(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                              const CallContext& call) = 0;
  virtual void broadcast(void* data, std::int64_t count, DType dtype, int root,
                         const CallContext& call) = 0;
  virtual void barrier(const CallContext& call) = 0;
  /// A communicator of its own for these ranks of this one (ascending, holding this rank).
  /// Collective over this communicator: every rank calls, each with the group it belongs to.
  virtual std::unique_ptr<Communicator> split(std::span<const int> ranks) = 0;

  /// True where buffers must be host memory.
  virtual bool on_host() const { return true; }

  /// Bytes that this rank has handed to other ranks of the group since construction: counted where
  /// messages are sent, copies to oneself and groups made by split() not among them. Between calls.
  std::int64_t sent_bytes() const { return sent_bytes_; }

 protected:
  std::int64_t sent_bytes_ = 0;
};

/// Runs `body` as `ranks` threads of this process, each with its communicator; returns when all
/// have. The first exception of any rank is rethrown after the others were told and have ended.
/// (local.cpp)
void run_local_ranks(int ranks, const std::function<void(Communicator&)>& body);

/// A group of this process alone, as rank 0 of 1; needs neither MPI nor threads. (local.cpp)
std::unique_ptr<Communicator> make_solo_communicator();

/// Seconds that the ranks of a job may take to come together in MPI's start.
inline constexpr double kDefaultStartLimit_s = 120;

/// The MPI world of this process: initialises MPI (serialized thread use) on first call. Where the
/// ranks are not together after start_limit_s, this process says who is missing and ends with 124:
/// MPI's start cannot be left otherwise. Throws Unavailable "built without MPI".
std::unique_ptr<Communicator> make_mpi_world(double start_limit_s = kDefaultStartLimit_s);
/// True where make_mpi_world can work at all: built with MPI.
bool has_mpi();
/// True when this process was started as part of an MPI job (mpirun, srun). (launch.cpp)
bool inside_mpi_job();
/// "Open MPI v4.1.4", "" when built without MPI.
std::string mpi_version();
/// Finalises MPI where it was initialised; call once at the end of main.
void finalize_mpi();
/// Ends the whole job with this exit code, after a message. Plain exit where MPI was not
/// initialised.
[[noreturn]] void abort_job(int exit_code);

class Backend;
/// NCCL over the same ranks, bootstrapped through `host`; one device per rank, that of `backend`,
/// whose waits it watches. It outlives the communicators split off it, and `backend` outlives it.
/// They fail together: after a failure or a time limit in one, or where one is destroyed by an
/// exception, all are aborted. Every wait lasts `time_limit_s` at most, and so do the ends of all of
/// them together. Throws Unavailable "built without NCCL".
///
/// Different ones may be used from different streams at the same time only where every rank issues
/// their calls in one order (issue_order.h).
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, Backend& backend,
                                                     int device, double time_limit_s = 60);
/// True where make_nccl_communicator can work at all: built with NCCL.
bool has_nccl();

/// Lets a host communicator serve buffers of a device through pinned host memory. (staged.cpp)
std::unique_ptr<Communicator> make_staged_communicator(std::unique_ptr<Communicator> host,
                                                       Backend& backend);

/// This rank's clock compared with rank 0's: offset_s is added to this rank's steady_clock to give
/// rank 0's; error_s is half the shortest round trip seen. Cristian's method, the best of `rounds`
/// exchanges.
struct ClockOffset {
  double offset_s = 0;
  double error_s = 0;
};
ClockOffset measure_clock_offset(Communicator& world, double time_limit_s = kDefaultTimeLimit_s,
                                 int rounds = 32);

}  // namespace moe
