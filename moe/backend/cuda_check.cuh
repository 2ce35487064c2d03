#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <source_location>
#include <string>

#include "moe/errors.h"

namespace moe {

[[noreturn]] inline void throw_cuda_error(const std::string& what, const std::string& why,
                                          std::source_location where) {
  throw CudaError(what + ": " + why + " (" + where.file_name() + ":" +
                  std::to_string(where.line()) + ")");
}

/// `what` names the call: check(cudaMemcpyAsync(...), "cudaMemcpyAsync"). Throws CudaError.
inline void check(cudaError_t status, const char* what,
                  std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  throw_cuda_error(what, std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status),
                   where);
}

inline void check(cublasStatus_t status, const char* what,
                  std::source_location where = std::source_location::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw_cuda_error(
      what, std::string(cublasGetStatusName(status)) + ", " + cublasGetStatusString(status), where);
}

}  // namespace moe
