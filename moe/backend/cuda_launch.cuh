#pragma once

#include <utility>

#include "moe/backend/cuda_check.cuh"

namespace moe {

/// Enqueues a kernel on `stream`: `blocks` of `threads` each. `name` names it in the CudaError that
/// it throws where it cannot be enqueued.
template <class... Parameters, class... Arguments>
void launch_kernel(const char* name, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                   cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

}  // namespace moe
