#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "moe/backend/product_ways.h"
#include "moe/errors.h"
#include "moe/kernels/bound_op.h"
#include "moe/kernels/initial_values.h"
#include "moe/program/op.h"

namespace moe {

/// A point in a stream of one device; valid until the backend is told to forget_marks().
using Mark = int;

/// A copy from the arena to memory of the host.
struct HostCopy {
  std::span<std::byte> host;
  const std::byte* device;
};

/// A wait for a device ended at its time limit. The message says what was waited for.
struct DeviceTimeLimit : TimeLimit {
  using TimeLimit::TimeLimit;
};

/// Watches the work on a device that is not the backend's own, which is communication by NCCL.
/// The waits of the backend call it, from any thread.
struct DeviceWatch {
  /// Says what has not finished: "all_reduce of rank 1 with ranks 0, 2"; "" where all has. Throws
  /// CommunicationError where something failed.
  std::function<std::string()> under_way;
  /// Ends all that work, because a wait has exceeded its limit.
  std::function<void()> abort;
};

/// How the threads of a loop wait for the next loop. Asleep, they leave the core to others but take
/// tens of microseconds to wake. Awake, they keep the core for as long as an op of a small model
/// takes, and then sleep.
enum class Waiting : std::uint8_t { asleep, awake };

/// Memory, streams, events and kernels of one device, as one rank uses it. Each stream is driven by
/// its own host thread (run/runner.h); different streams may be driven at the same time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;

  /// Makes the arena hold at least `bytes` and returns its base. Called when nothing runs. On a CPU
  /// it is address space, of which pages are taken at first use. Throws OutOfMemory with the bytes
  /// asked for and the bytes free.
  virtual std::byte* arena(std::int64_t bytes) = 0;

  /// From now on arena() keeps no more than the first `bytes` where it grows; without this, all. A
  /// device whose memory does not hold the old arena and the new one takes them through the host.
  virtual void keep_of_arena(std::int64_t) {}

  /// A new block of the host's memory that activations are offloaded to (Pool::host), pinned where
  /// there is a device. To pin takes a second for a few GiB, and may wait for all work on the
  /// device. More than kSaidPinnedBytes are said. Throws OutOfMemory.
  virtual std::byte* host_block(std::int64_t bytes) = 0;
  static constexpr std::int64_t kSaidPinnedBytes = std::int64_t{1} << 30;
  /// Gives all of these blocks back. Called when nothing runs.
  virtual void free_host_blocks() {}

  /// Copies host memory to the arena in stream order. When the call returns `host` may be written
  /// again; upload() also waits until the copy has finished.
  virtual void post(std::byte* device, std::span<const std::byte> host, Stream stream) = 0;
  void upload(std::byte* device, std::span<const std::byte> host, Stream stream) {
    post(device, host, stream);
    reach(untimed_mark(stream));
  }
  /// Copies to host memory in stream order, with one wait for all pieces on a device. They have
  /// finished when the call returns.
  virtual void download_all(std::span<const HostCopy> copies, Stream stream) = 0;
  void download(std::span<std::byte> host, const std::byte* device, Stream stream) {
    const HostCopy copy{host, device};
    download_all({&copy, 1}, stream);
  }

  /// Gives the elements of a tensor in the arena their initial values, on Stream::compute. They are
  /// there when the call returns. Throws std::logic_error for a tensor of integers.
  virtual void fill(const View& tensor, const InitialValues& values) = 0;

  /// Lays the pattern of kernels/pattern.h on bytes [begin, end) of the arena or of a host's block, on
  /// Stream::host. It is there when the call returns.
  virtual void lay_pattern(std::byte* arena, std::int64_t begin, std::int64_t end) = 0;
  /// One past the highest of these bytes that does not hold it; `begin` where all do. Called when
  /// nothing runs.
  virtual std::int64_t end_of_pattern(const std::byte* arena, std::int64_t begin,
                                      std::int64_t end) = 0;

  /// Issues computing ops of one stream, op->op->stream, in as few launches as the device can. They
  /// are one op, updates of parameters that do not depend on each other, or a sum and then the norm
  /// of it. On a CPU they have finished when the call returns; on CUDA they are enqueued.
  virtual void execute_together(std::span<const BoundOp* const> ops) = 0;
  void execute(const BoundOp& op) {
    const BoundOp* const one = &op;
    execute_together({&one, 1});
  }

  /// What multiplies, and on what: "cuBLAS 130100 on NVIDIA H200, 132 multiprocessors". Ways of one
  /// are of use to the same alone. "" where each product has one way.
  virtual std::string multiplies_by() { return ""; }
  /// The fastest way of each product, timed one by one on random numbers. Products for which there
  /// is no memory, or that have one way, are left out. Called when nothing runs.
  virtual std::vector<ProductWay> time_products(std::span<const Product>) { return {}; }
  /// Products are carried out in these ways from now on (way_of), others as the library chooses.
  /// Called when nothing runs.
  virtual void take_ways(std::vector<ProductWay>) {}

  /// Marks the present end of a stream. Later work on another stream can wait for the mark, and its
  /// time can be read where it is `timed`; without it is cheaper on a device.
  virtual Mark record(Stream stream, bool timed) = 0;
  Mark mark(Stream stream) { return record(stream, true); }
  Mark untimed_mark(Stream stream) { return record(stream, false); }
  /// Makes work issued on `stream` from now on start after `mark`. The host stream waits in this
  /// call.
  virtual void wait(Stream stream, Mark mark) = 0;
  /// Blocks until `mark` is reached; returns its time in seconds of std::chrono::steady_clock, or 0
  /// where it has none. On CUDA it throws DeviceTimeLimit, as every wait for a device does.
  virtual double time_of(Mark mark) = 0;
  void reach(Mark mark) { time_of(mark); }
  /// How far the times of marks may be off, in seconds.
  virtual double time_error_s() { return 0; }
  /// Makes all marks invalid, before a new iteration. Called when nothing runs.
  virtual void forget_marks() = 0;

  /// Sets the watch that waits for the device call. Called when nothing runs.
  virtual void watch(DeviceWatch) {}

  /// The device's own stream (cudaStream_t) or nullptr.
  virtual void* native_stream(Stream) { return nullptr; }
};

/// The CPU of one rank, with kernels on `threads` threads and matrix products by oneDNN. Its
/// streams are the host threads that call it. Whether an op runs on all threads or on one is
/// measured (thread_choice.h). `waiting` is how they wait, as name() says. The memory of device and
/// host is the same here; copies between them are slowed down to `copy_bytes_per_s`, unless it is
/// 0.
std::unique_ptr<Backend> make_cpu_backend(int threads, Waiting waiting = Waiting::asleep,
                                          double copy_bytes_per_s = 0);

/// The part of a device that one of the ranks of this process has which share it.
struct DeviceShare {
  int index = 0;
  int of = 1;  ///< how many share it
};

/// CUDA device `device` of this host. Every wait for it throws DeviceTimeLimit after
/// `time_limit_s`.
/// Throws Unavailable ("built without CUDA", "no CUDA device: ..."). One that shares the device runs
/// kernels on multiprocessors of its own, where the driver divides them, as name() says; when an
/// exception ends it, memory that others may still read stays until the process ends.
std::unique_ptr<Backend> make_cuda_backend(int device, double time_limit_s = 60,
                                           DeviceShare share = {});
/// The number of devices that can be used; 0 where built without CUDA or where there is no driver.
int cuda_device_count();
/// [device]: its unique name, "GPU-5d5ba0d6-d33d-4b2c-8a1c-0242ac120002". It is the same in every
/// process, however the process numbers its devices.
std::vector<std::string> cuda_device_ids();
/// "NVIDIA H100 80GB HBM3"; "" where there is no such device.
std::string cuda_device_name(int device);

/// Lets this thread, and each that it starts, use all cores that the program may use. OpenMP, which
/// oneDNN needs, binds the first thread of a program to one of them where OMP_PROC_BIND, OMP_PLACES
/// or GOMP_CPU_AFFINITY is set. Call it before other threads are started.
void leave_openmp_place();

/// "2.6.3"
std::string onednn_version();
/// What to expect of products in bf16 on this processor; "" where it has instructions for them
/// (AVX512_BF16 or AMX) that are faster than those for float.
std::string remark_on_bf16();
/// The bytes that are free on the device now; 0 where there is no such device.
std::int64_t cuda_free_bytes(int device);
/// "runtime 13.0, driver 13.0, cuDNN 9.19.0", without the last where it is not there, or "emulated"; "" where built without CUDA or where no device is.
std::string cuda_version();

}  // namespace moe
