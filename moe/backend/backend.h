#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "moe/kernels/bound_op.h"
#include "moe/program/op.h"

namespace moe {

/// A point in a stream of one device; valid until the backend is told to forget_marks().
using Mark = int;

/// What else than a backend's own kernels may keep its device at work: communication of NCCL's.
/// Called by waits for the device, from any thread.
struct DeviceWatch {
  /// Says what has not finished, "" for nothing: "all_reduce of rank 1 with ranks 0, 2". Throws
  /// CommunicationError where something failed.
  std::function<std::string()> under_way;
  /// Ends it all, because a wait has exceeded its limit.
  std::function<void()> abort;
};

/// How threads of a parallel loop wait for the next one: asleep costs nobody a core but tens of
/// microseconds to wake; awake takes a core.
enum class Waiting : std::uint8_t { asleep, awake };

/// Memory, streams, events and kernels of one device, as one rank uses it. Each stream is driven by
/// its own host thread (run/runner.h); different streams may be driven at the same time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;

  /// Makes the arena hold at least `bytes` and returns its base; called when nothing runs. CPU:
  /// address space, pages come with first use. Throws std::bad_alloc-like moe::OutOfMemory with the
  /// bytes asked for and free.
  virtual std::byte* arena(std::int64_t bytes) = 0;

  /// The same of host memory that copies offload to (Pool::host), pinned where there is a device; what it held is
  /// lost where it grows.
  virtual std::byte* host_arena(std::int64_t bytes) = 0;

  /// Copies between host memory and the arena in stream order; has finished when it returns.
  virtual void upload(std::byte* device, std::span<const std::byte> host, Stream stream) = 0;
  virtual void download(std::span<std::byte> host, const std::byte* device, Stream stream) = 0;

  /// Issues one computing op on op.op->stream. CPU: has finished when it returns. CUDA: is
  /// enqueued.
  virtual void execute(const BoundOp& op) = 0;

  /// Marks the present end of a stream; later work on another stream can wait for it, and its time
  /// can be read.
  virtual Mark mark(Stream stream) = 0;
  /// Work issued on `stream` from now on starts after `mark`. Host streams wait here.
  virtual void wait(Stream stream, Mark mark) = 0;
  /// Blocks until `mark` is reached; returns its time in seconds of std::chrono::steady_clock. CUDA:
  /// as all waits for a device throws TimeLimit.
  virtual double time_of(Mark mark) = 0;
  /// Starts a new iteration: all marks made so far become invalid. Called when nothing runs.
  virtual void forget_marks() = 0;

  /// What waits look at while they wait; called when nothing runs.
  virtual void watch(DeviceWatch) {}

  /// The device's own stream (cudaStream_t) or nullptr.
  virtual void* native_stream(Stream) { return nullptr; }
};

/// One rank's CPU: kernels on `threads` threads through oneDNN; streams are the host threads that
/// call. `waiting` decides below which size a kernel keeps to one thread. Copies between the device's memory and the
/// host's, which are one here, take as long as at `copy_bytes_per_s` at least; 0: as long as memory takes.
std::unique_ptr<Backend> make_cpu_backend(int threads, Waiting waiting = Waiting::asleep,
                                          double copy_bytes_per_s = 0);

/// Device `device` of this host; every wait for it ends after `time_limit_s` in TimeLimit. Throws
/// moe::Unavailable ("built without CUDA", "no CUDA device: ...").
std::unique_ptr<Backend> make_cuda_backend(int device, double time_limit_s = 60);
/// Devices that can be used; 0 when built without CUDA or when there is no driver.
int cuda_device_count();
/// What tells these devices from all others, by number: the same for every process that sees one,
/// however it numbers them. "GPU-5d5ba0d6-d33d-4b2c-8a1c-0242ac120002"
std::vector<std::string> cuda_device_ids();
/// "NVIDIA H100 80GB HBM3" or "".
std::string cuda_device_name(int device);

/// "2.6.3"
std::string onednn_version();
/// Memory that is free on the device now; 0 without one.
std::int64_t cuda_free_bytes(int device);
/// "runtime 13.0, driver 13.0", "" when built without CUDA or when there is no device.
std::string cuda_version();

}  // namespace moe
