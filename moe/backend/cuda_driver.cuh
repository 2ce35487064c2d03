#pragma once

#include <cuda_runtime_api.h>

namespace moe {

/// A function of the driver by its name, as CUDA 12.0 declares it; nullptr where this driver has
/// none. So the driver's library is not linked, and programs start where it is not there.
inline void* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  cudaGetLastError();  // forgets it
  return nullptr;
}

}  // namespace moe
