#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/backend/cuda/chosen_ways.cuh"
#include "moe/backend/cuda/device_part.cuh"
#include "moe/backend/cuda/fused_attention.cuh"
#include "moe/backend/cuda_wait.cuh"

namespace moe {

/// A pinned buffer, and the event at which the copy that uses it is over.
struct Staging {
  static constexpr std::size_t kBytes = 8 << 20;
  PinnedMemory memory;
  OwnedEvent free = make_event(cudaEventDisableTiming);

  Staging() {
    void* pinned = nullptr;
    check(cudaMallocHost(&pinned, kBytes), "cudaMallocHost");
    memory = PinnedMemory(pinned);
  }
};

/// A CUDA stream with its cuBLAS handle and its pinned buffers. Used only by the host thread of the
/// stream.
class DeviceStream {
 public:
  /// Blocks of kernels of communication start before those of other streams that wait for room on
  /// the device, since other ranks wait for them too.
  /// `waits` and `part` must outlive it.
  DeviceStream(DeviceWaits& waits, Stream which, const DevicePart& part)
      : waits_(&waits), part_(&part) {
    const bool first = which == Stream::inter_node || which == Stream::intra_node;
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    const int priority = first ? greatest : least;
    cudaStream_t stream = part.make_stream(priority);
    if (stream == nullptr) {
      check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
            "cudaStreamCreateWithPriority");
    }
    stream_ = OwnedStream(stream);
    multiprocessors_ = part.multiprocessors();
    if (multiprocessors_ > 0) {
      part_of_device_ = true;
      return;
    }
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
  }

  cudaStream_t get() const { return stream_.get(); }
  /// Of the device, or of this rank's part of it.
  int multiprocessors() const { return multiprocessors_; }

  /// The cuBLAS handle, made on first use because it takes tens of megabytes on the device. FP32
  /// stays FP32, without TF32.
  cublasHandle_t blas() {
    if (!blas_) {
      cublasHandle_t handle = nullptr;
      check(cublasCreate(&handle), "cublasCreate");
      blas_ = OwnedBlas(handle);
      check(cublasSetStream(handle, stream_.get()), "cublasSetStream");
      check(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
      if (part_of_device_) {
        check(cublasSetSmCountTarget(handle, multiprocessors_), "cublasSetSmCountTarget");
      }
    }
    return blas_.get();
  }

  /// Memory on the device that calls of cuBLAS need, made before the first iteration for the same
  /// reason as the pinned buffers: a workspace of the size that NVIDIA recommends, and room for
  /// addresses. A stream without it multiplies in simpler ways.
  static constexpr std::size_t kWorkspaceBytes = 32 << 20, kMostPointers = 3 * 96;
  void make_blas_memory() {
    void* memory = nullptr;
    check(cudaMalloc(&memory, kWorkspaceBytes + kMostPointers * sizeof(void*)), "cudaMalloc");
    blas_memory_ = DeviceMemory(memory);
  }
  /// kWorkspaceBytes, or nullptr. Ops use it, too, between two calls of cuBLAS.
  void* workspace() const { return blas_memory_.get(); }
  /// kMostPointers addresses, or nullptr.
  const void** pointers() const {
    if (!blas_memory_) return nullptr;
    auto* const bytes = static_cast<std::byte*>(blas_memory_.get());
    return reinterpret_cast<const void**>(bytes + kWorkspaceBytes);
  }

  /// A library that computes attention on this stream, or nullptr. It, too, is made before the
  /// first iteration.
  void use_for_attention(std::unique_ptr<FusedAttention> fused) {
    fused_attention_ = std::move(fused);
  }
  FusedAttention* fused_attention() const { return fused_attention_.get(); }

  /// Of products on this stream.
  ChosenWays& ways() { return ways_; }
  /// Chooses them, with streams beside this one where a group of products is to be carried out so.
  void take_ways(std::vector<ProductWay> ways) {
    const bool beside = std::ranges::any_of(
        ways, [](const ProductWay& way) { return way.algorithm == kSideBySide; });
    if (beside) {
      make_sides();
    } else {
      sides_.clear();
    }
    for (DeviceStream& side : sides_) side.ways_.take(ways);
    ways_.take(std::move(ways));
  }
  static constexpr std::string_view kSideBySide = "side by side";

  /// Streams beside this one, for products that do not fill the device. Each takes as much of its
  /// memory as this one. Where there is no room for them there are none, and it returns false.
  bool make_sides() {
    constexpr std::size_t kSides = 3;
    if (!joined_) joined_ = make_event(cudaEventDisableTiming);
    try {
      while (sides_.size() < kSides) {
        DeviceStream& side = sides_.emplace_back(*waits_, Stream::compute, *part_);
        side.blas();
        side.make_blas_memory();
        side.joined_ = make_event(cudaEventDisableTiming);
      }
    } catch (const OutOfMemory&) {
      cudaGetLastError();  // forgets it
      sides_.clear();
    }
    return !sides_.empty();
  }
  /// Calls f(stream) with this stream and those beside it in turn, where there are any, `count`
  /// times. The work begins after all that was enqueued here before, and what is enqueued here
  /// later begins after it.
  template <class F>
  void side_by_side(std::size_t count, F f) {
    check(cudaEventRecord(joined_.get(), get()), "cudaEventRecord");
    for (DeviceStream& side : sides_) {
      check(cudaStreamWaitEvent(side.get(), joined_.get(), 0), "cudaStreamWaitEvent");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t turn = i % (sides_.size() + 1);
      f(turn == 0 ? *this : sides_[turn - 1], i);
    }
    for (DeviceStream& side : sides_) {
      check(cudaEventRecord(side.joined_.get(), side.get()), "cudaEventRecord");
      check(cudaStreamWaitEvent(get(), side.joined_.get(), 0), "cudaStreamWaitEvent");
    }
  }

  /// Makes the pinned buffers before the first iteration: an allocation may wait for all that runs
  /// on the device, even for kernels of NCCL that wait for other ranks.
  void make_staging() {
    if (staging_.empty()) staging_ = std::vector<Staging>(2);
  }

  /// Drops all handles that would wait for the device, whose work will not end.
  void leak() {
    blas_.leak();
    blas_memory_.leak();
    (void)fused_attention_.release();
    for (Staging& staging : staging_) staging.memory.leak();
    for (DeviceStream& side : sides_) side.leak();
  }

  /// Does not wait for the copy. Copies of few bytes lie in one buffer side by side, and wait for
  /// earlier ones only where both buffers are full.
  void post(std::byte* device, std::span<const std::byte> host) {
    in_steps(host.size(), false,
             [&](std::size_t begin, std::size_t bytes, const Staging&, void* at) {
               std::memcpy(at, host.data() + begin, bytes);
               check(cudaMemcpyAsync(device + begin, at, bytes, cudaMemcpyHostToDevice, get()),
                     "cudaMemcpyAsync to the device");
             });
  }

  /// Uses two buffers: while one is copied to `host`, the other is filled.
  void download(std::span<std::byte> host, const std::byte* device) {
    std::byte* done = host.data();
    std::size_t done_bytes = 0;
    const Staging* filled = nullptr;
    const auto empty = [&] {
      if (filled == nullptr) return;
      waits_->until(filled->free.get(), "a copy to the host");
      std::memcpy(done, filled->memory.get(), done_bytes);
    };
    in_steps(host.size(), true,
             [&](std::size_t begin, std::size_t bytes, const Staging& staging, void* at) {
               check(cudaMemcpyAsync(at, device + begin, bytes, cudaMemcpyDeviceToHost, get()),
                     "cudaMemcpyAsync from the device");
               // Recorded here too, because empty() below waits for it before in_steps() records
               // it.
               check(cudaEventRecord(staging.free.get(), get()), "cudaEventRecord");
               empty();
               filled = &staging;
               done = host.data() + begin;
               done_bytes = bytes;
             });
    empty();
  }

  /// Copies of few bytes share a buffer and a wait.
  void download(std::span<const HostCopy> copies) {
    std::size_t total = 0;
    for (const HostCopy& copy : copies) total += copy.host.size();
    if (total > Staging::kBytes) {
      for (const HostCopy& copy : copies) download(copy.host, copy.device);
      return;
    }
    const Staging& staging = next_staging();
    auto* at = static_cast<std::byte*>(staging.memory.get());
    for (const HostCopy& copy : copies) {
      check(cudaMemcpyAsync(at, copy.device, copy.host.size(), cudaMemcpyDeviceToHost, get()),
            "cudaMemcpyAsync from the device");
      at += copy.host.size();
    }
    check(cudaEventRecord(staging.free.get(), get()), "cudaEventRecord");
    waits_->until(staging.free.get(), "a copy to the host");
    at = static_cast<std::byte*>(staging.memory.get());
    for (const HostCopy& copy : copies) {
      std::memcpy(copy.host.data(), at, copy.host.size());
      at += copy.host.size();
    }
  }

 private:
  /// The buffer whose turn it is, once no copy uses it. Nothing else lies in it.
  const Staging& next_staging() {
    make_staging();
    turn_ = 1 - turn_;
    used_ = Staging::kBytes;
    const Staging& staging = staging_[turn_];
    waits_->until(staging.free.get(), "an earlier copy");
    return staging;
  }

  /// Calls f(begin, bytes, staging, place) for `total` bytes in steps of a buffer, with the two
  /// buffers in turn. Without `alone` the first step may go beside what lies in one.
  template <class F>
  void in_steps(std::size_t total, bool alone, F f) {
    for (std::size_t begin = 0; begin < total;) {
      const std::size_t bytes = std::min(Staging::kBytes, total - begin);
      if (alone || bytes > Staging::kBytes - used_) {
        next_staging();
        used_ = 0;
      }
      const Staging& staging = staging_[turn_];
      f(begin, bytes, staging, static_cast<std::byte*>(staging.memory.get()) + used_);
      check(cudaEventRecord(staging.free.get(), get()), "cudaEventRecord");
      constexpr std::size_t kBetween = 64;  // a line of the host's caches
      used_ = std::min(Staging::kBytes, (used_ + bytes + kBetween - 1) / kBetween * kBetween);
      begin += bytes;
    }
  }

  DeviceWaits* waits_;
  const DevicePart* part_;
  OwnedStream stream_;
  int multiprocessors_ = 0;
  bool part_of_device_ = false;
  OwnedBlas blas_;
  DeviceMemory blas_memory_;
  std::unique_ptr<FusedAttention> fused_attention_;
  ChosenWays ways_;
  OwnedEvent joined_;  ///< what others of side_by_side() wait for
  std::vector<DeviceStream> sides_;
  std::vector<Staging> staging_;
  int turn_ = 0;                        ///< the buffer in use
  std::size_t used_ = Staging::kBytes;  ///< of its bytes, from the begin
};

}  // namespace moe
