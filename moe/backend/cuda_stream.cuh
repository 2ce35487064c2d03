#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "moe/backend/cuda_wait.cuh"

namespace moe {

/// A pinned buffer and the event that says when the copy that uses it is over.
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

/// What one stream owns. Its host thread alone uses it.
class DeviceStream {
 public:
  explicit DeviceStream(DeviceWaits& waits) : waits_(&waits) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    stream_ = OwnedStream(stream);
  }

  cudaStream_t get() const { return stream_.get(); }

  /// Made on first use: a handle holds tens of megabytes on the device. FP32 stays FP32: no TF32.
  cublasHandle_t blas() {
    if (!blas_) {
      cublasHandle_t handle = nullptr;
      check(cublasCreate(&handle), "cublasCreate");
      blas_ = OwnedBlas(handle);
      check(cublasSetStream(handle, stream_.get()), "cublasSetStream");
      check(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    }
    return blas_.get();
  }

  /// Allocations may wait for all that runs on the device, kernels of NCCL that wait for other
  /// ranks among them: what an iteration needs is made before it.
  void make_staging() {
    if (staging_.empty()) staging_ = std::vector<Staging>(2);
  }

  /// Gives nothing back that waits for the device: it will not end.
  void leak() {
    blas_.leak();
    for (Staging& staging : staging_) staging.memory.leak();
  }

  void upload(std::byte* device, std::span<const std::byte> host) {
    pieces(host.size(), [&](std::size_t begin, std::size_t bytes, const Staging& staging) {
      std::memcpy(staging.memory.get(), host.data() + begin, bytes);
      check(cudaMemcpyAsync(device + begin, staging.memory.get(), bytes, cudaMemcpyHostToDevice,
                            get()),
            "cudaMemcpyAsync to the device");
    });
    wait_for_staging();
  }

  /// Two buffers: while one is copied out, the other is filled.
  void download(std::span<std::byte> host, const std::byte* device) {
    std::byte* done = host.data();
    std::size_t done_bytes = 0;
    const Staging* filled = nullptr;
    const auto empty = [&] {
      if (filled == nullptr) return;
      waits_->until(filled->free.get(), "a copy to the host");
      std::memcpy(done, filled->memory.get(), done_bytes);
    };
    pieces(host.size(), [&](std::size_t begin, std::size_t bytes, const Staging& staging) {
      check(cudaMemcpyAsync(staging.memory.get(), device + begin, bytes, cudaMemcpyDeviceToHost,
                            get()),
            "cudaMemcpyAsync from the device");
      // Recorded here too: empty() below may come before pieces() gets to it.
      check(cudaEventRecord(staging.free.get(), get()), "cudaEventRecord");
      empty();
      filled = &staging;
      done = host.data() + begin;
      done_bytes = bytes;
    });
    empty();
  }

 private:
  template <class F>
  void pieces(std::size_t total, F f) {
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
  void wait_for_staging() {
    for (const Staging& staging : staging_) {
      waits_->until(staging.free.get(), "a copy from the host");
    }
  }

  DeviceWaits* waits_;
  OwnedStream stream_;
  OwnedBlas blas_;
  std::vector<Staging> staging_;
};

}  // namespace moe
