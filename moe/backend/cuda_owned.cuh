#pragma once

#include <utility>

#include "moe/backend/cuda_check.cuh"

namespace moe {

/// Owns one handle of the CUDA runtime and gives it back by `destroy`, whose status is ignored.
template <class T, auto destroy>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T value) : value_(value) {}
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, T{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Owned() {
    if (value_ != T{}) destroy(value_);
  }
  T get() const { return value_; }
  /// Drops the handle without giving it back.
  void leak() { value_ = T{}; }
  explicit operator bool() const { return value_ != T{}; }

 private:
  T value_{};
};

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;
using OwnedBlas = Owned<cublasHandle_t, cublasDestroy>;
using DeviceMemory = Owned<void*, static_cast<cudaError_t (*)(void*)>(cudaFree)>;
using PinnedMemory = Owned<void*, cudaFreeHost>;

inline OwnedEvent make_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return OwnedEvent(event);
}

}  // namespace moe
