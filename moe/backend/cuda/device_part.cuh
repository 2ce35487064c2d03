#pragma once

#include <cuda_runtime_api.h>

#include "moe/backend/backend.h"

namespace moe {

/// Multiprocessors of a device that kernels of one rank have to themselves: a green context of the
/// driver. Memory, its rate and the device's copies are shared all the same.
class DevicePart {
 public:
  /// The whole device where the share is that, and where the driver does not divide it.
  DevicePart(int device, DeviceShare share);
  ~DevicePart();
  DevicePart(const DevicePart&) = delete;
  DevicePart& operator=(const DevicePart&) = delete;

  /// 0: all of the device.
  int multiprocessors() const { return multiprocessors_; }
  /// A stream of these multiprocessors. Where they are all, nullptr.
  cudaStream_t make_stream(int priority) const;

 private:
  void* context_ = nullptr;
  int multiprocessors_ = 0;
};

}  // namespace moe
