#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "moe/backend/cuda_owned.cuh"

namespace moe {

/// A pinned buffer and the event that says when the copy that uses it is over.
struct Staging {
  static constexpr std::size_t kBytes = 8 << 20;
  PinnedMemory memory;
  // Waiting for it sleeps: another thread has work for this core.
  OwnedEvent free = make_event(cudaEventBlockingSync | cudaEventDisableTiming);

  Staging() {
    void* pinned = nullptr;
    check(cudaMallocHost(&pinned, kBytes), "cudaMallocHost");
    memory = PinnedMemory(pinned);
  }
};

/// What one stream owns. Its host thread alone uses it.
class DeviceStream {
 public:
  DeviceStream() {
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
      check(cudaEventSynchronize(filled->free.get()), "cudaEventSynchronize");
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
    if (staging_.empty()) staging_ = std::vector<Staging>(2);
    int next = 0;
    for (std::size_t begin = 0; begin < total; begin += Staging::kBytes) {
      const Staging& staging = staging_[next];
      check(cudaEventSynchronize(staging.free.get()), "cudaEventSynchronize");
      f(begin, std::min(Staging::kBytes, total - begin), staging);
      check(cudaEventRecord(staging.free.get(), get()), "cudaEventRecord");
      next = 1 - next;
    }
  }
  void wait_for_staging() {
    for (const Staging& staging : staging_) {
      check(cudaEventSynchronize(staging.free.get()), "cudaEventSynchronize");
    }
  }

  OwnedStream stream_;
  OwnedBlas blas_;
  std::vector<Staging> staging_;
};

}  // namespace moe
