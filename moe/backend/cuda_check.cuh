#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <string>

#include "moe/errors.h"

namespace moe {

/// The line of source that made a call. It takes the place of std::source_location, which clang 14
/// does not have with the C++ library of GCC 12.
struct CallSite {
  const char* file;
  int line;

  static CallSite current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

[[noreturn]] inline void throw_cuda_error(const std::string& what, const std::string& why,
                                          bool is_memory, CallSite where) {
  const std::string text =
      what + ": " + why + " (" + where.file + ":" + std::to_string(where.line) + ")";
  if (is_memory) throw OutOfMemory(text);
  throw CudaError(text);
}

/// `what` names the call: check(cudaMemcpyAsync(...), "cudaMemcpyAsync"). Throws OutOfMemory where
/// the device or the host has too little memory, and CudaError else.
inline void check(cudaError_t status, const char* what, CallSite where = CallSite::current()) {
  if (status == cudaSuccess) return;
  throw_cuda_error(what, std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status),
                   status == cudaErrorMemoryAllocation, where);
}

inline void check(cublasStatus_t status, const char* what, CallSite where = CallSite::current()) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw_cuda_error(what,
                   std::string(cublasGetStatusName(status)) + ", " + cublasGetStatusString(status),
                   status == CUBLAS_STATUS_ALLOC_FAILED, where);
}

}  // namespace moe
