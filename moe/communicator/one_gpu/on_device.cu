#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "moe/backend/cuda_launch.cuh"
#include "moe/communicator/gpu_cluster.h"
#include "moe/communicator/one_gpu/on_device.h"
#include "moe/kernels/with_type.h"

namespace moe::one_gpu {
namespace {

constexpr int kThreads = 256;
/// Enough for any device: threads go on to further elements.
constexpr std::int64_t kMostBlocks = 1024;

/// The parts one after the other, and where each set of them ends.
struct Parts {
  const void* part[GpuCluster::kMostRanks];
  int set_end[GpuCluster::kMostRanks];
  int sets;
  bool rounds_each;
};

template <typename T>
__global__ void add_parts(T* to, Parts parts, std::int64_t count) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += threads) {
    const auto read = [&](int part) -> Wide<T> {
      return static_cast<const T*>(parts.part[part])[i];
    };
    Wide<T> total{};
    int part = 0;
    for (int set = 0; set < parts.sets; ++set) {
      Wide<T> sum = read(part++);
      for (; part < parts.set_end[set]; ++part) {
        sum += read(part);
        if (parts.rounds_each) sum = T(sum);
      }
      total = set == 0 ? sum : total + sum;
    }
    to[i] = T(total);
  }
}

/// 16 bytes a thread where both sides allow it.
template <typename Word>
__global__ void copy_words(Word* to, const Word* from, std::int64_t words) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += threads) {
    to[i] = from[i];
  }
}

struct alignas(16) Words16 {
  std::uint64_t half[2];
};
struct Words4 {
  std::uint32_t word;
};
struct Words1 {
  std::uint8_t byte;
};

}  // namespace

void sum_on_device(const Sum& sum, cudaStream_t stream) {
  Parts parts{};
  int count = 0;
  for (const auto& set : sum.sets) {
    if (set.empty() || count + static_cast<int>(set.size()) > GpuCluster::kMostRanks) {
      throw std::invalid_argument("sum_on_device: no parts, or too many");
    }
    for (const void* part : set) parts.part[count++] = part;
    parts.set_end[parts.sets++] = count;
  }
  parts.rounds_each = sum.rounds_each;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>((sum.count + kThreads - 1) / kThreads, kMostBlocks));
  with_type(sum.dtype, [&](auto type) {
    using T = decltype(type);
    launch_kernel("add_parts", add_parts<T>, blocks, kThreads, stream, static_cast<T*>(sum.to),
                  parts, sum.count);
  });
}

void copy_on_device(const Copy& copy, int blocks, cudaStream_t stream) {
  const auto copy_as = [&]<typename Word>(Word) {
    launch_kernel("copy_words", copy_words<Word>, static_cast<unsigned>(blocks), kThreads, stream,
                  reinterpret_cast<Word*>(copy.to), reinterpret_cast<const Word*>(copy.from),
                  copy.bytes / static_cast<std::int64_t>(sizeof(Word)));
  };
  const auto begins =
      reinterpret_cast<std::uintptr_t>(copy.to) | reinterpret_cast<std::uintptr_t>(copy.from);
  const std::uintptr_t whole = begins | static_cast<std::uintptr_t>(copy.bytes);
  if (whole % sizeof(Words16) == 0) return copy_as(Words16{});
  if (whole % sizeof(Words4) == 0) return copy_as(Words4{});
  copy_as(Words1{});
}

}  // namespace moe::one_gpu
