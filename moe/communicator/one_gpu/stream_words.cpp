#include "moe/communicator/one_gpu/stream_words.h"

#include <string>

#include "moe/backend/cuda_driver.cuh"
#include "moe/errors.h"

namespace moe::one_gpu {
namespace {

unsigned long long address_of(std::uint32_t* word) {
  return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(word));
}

void expect_success(int result, const char* call) {
  if (result == 0) return;
  throw CudaError(std::string(call) + ": the driver answers " + std::to_string(result));
}

}  // namespace

StreamWords::StreamWords()
    : write_(reinterpret_cast<Operation>(driver_function("cuStreamWriteValue32"))),
      wait_(reinterpret_cast<Operation>(driver_function("cuStreamWaitValue32"))) {
  if (write_ != nullptr && wait_ != nullptr) return;
  throw Unavailable(
      "links in one GPU: this driver has no cuStreamWaitValue32, which paces them: expected a "
      "driver of CUDA 12 or later, or rates of 0");
}

void StreamWords::write(cudaStream_t stream, std::uint32_t* word, std::uint32_t value) const {
  expect_success(write_(stream, address_of(word), value, 0), "cuStreamWriteValue32");
}

void StreamWords::wait(cudaStream_t stream, std::uint32_t* word, std::uint32_t value) const {
  expect_success(wait_(stream, address_of(word), value, 0), "cuStreamWaitValue32");
}

}  // namespace moe::one_gpu
