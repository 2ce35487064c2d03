#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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
  DeviceStream(DeviceWaits& waits, Stream which, const DevicePart& part) : waits_(&waits) {
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
  }

  /// Does not wait for the copy: a later one waits for the buffer.
  void post(std::byte* device, std::span<const std::byte> host) {
    in_steps(host.size(), [&](std::size_t begin, std::size_t bytes, const Staging& staging) {
      std::memcpy(staging.memory.get(), host.data() + begin, bytes);
      check(cudaMemcpyAsync(device + begin, staging.memory.get(), bytes, cudaMemcpyHostToDevice,
                            get()),
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
    in_steps(host.size(), [&](std::size_t begin, std::size_t bytes, const Staging& staging) {
      check(cudaMemcpyAsync(staging.memory.get(), device + begin, bytes, cudaMemcpyDeviceToHost,
                            get()),
            "cudaMemcpyAsync from the device");
      // Recorded here too, because empty() below waits for it before in_steps() records it.
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
    make_staging();
    const Staging& staging = staging_.front();
    waits_->until(staging.free.get(), "an earlier copy");
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
  /// Calls f(begin, bytes, staging) for `total` bytes in steps of a buffer, with the two buffers in
  /// turn.
  template <class F>
  void in_steps(std::size_t total, F f) {
    make_staging();
    int next = 0;
    for (std::size_t begin = 0; begin < total; begin += Staging::kBytes) {
      const Staging& staging = staging_[next];
      waits_->until(staging.free.get(), "an earlier copy");
      f(begin, std::min(Staging::kBytes, total - begin), staging);
      check(cudaEventRecord(staging.free.get(), get()), "cudaEventRecord");
      next = 1 - next;
    }
  }

  DeviceWaits* waits_;
  OwnedStream stream_;
  int multiprocessors_ = 0;
  bool part_of_device_ = false;
  OwnedBlas blas_;
  DeviceMemory blas_memory_;
  std::unique_ptr<FusedAttention> fused_attention_;
  std::vector<Staging> staging_;
};

}  // namespace moe
