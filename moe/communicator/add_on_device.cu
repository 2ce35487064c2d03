#include <algorithm>
#include <stdexcept>

#include "moe/backend/cuda_launch.cuh"
#include "moe/communicator/add_on_device.h"

namespace moe {
namespace {

constexpr int kThreads = 256;
/// Enough for any device: threads go on to further elements.
constexpr std::int64_t kMostBlocks = 1024;

template <typename T>
__global__ void add_elements(T* sum, const T* part, std::int64_t count) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    sum[i] += part[i];
  }
}

template <typename T>
void add_typed(void* sum, const void* part, std::int64_t count, cudaStream_t stream) {
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>((count + kThreads - 1) / kThreads, kMostBlocks));
  launch_kernel("add_elements", add_elements<T>, blocks, kThreads, stream, static_cast<T*>(sum),
                static_cast<const T*>(part), count);
}

}  // namespace

void add_on_device(void* sum, const void* part, std::int64_t count, DType dtype,
                   cudaStream_t stream) {
  if (count == 0) return;
  switch (dtype) {
    case DType::f32:
      return add_typed<float>(sum, part, count, stream);
    case DType::f64:
      return add_typed<double>(sum, part, count, stream);
    case DType::i32:
      return add_typed<std::int32_t>(sum, part, count, stream);
    case DType::bf16:
    case DType::remainder:
      break;  // sums are made in a wider type
  }
  throw std::invalid_argument("add_on_device: unknown dtype");
}

}  // namespace moe
