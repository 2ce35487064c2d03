#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

/// CUDA C++ for the compiler of the host: a kernel is a function that every CUDA thread of a launch
/// calls. The threads of a block are fibers of one thread of the host, that of the stream.

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
/// A block at a time runs on a thread of the host, so what a block shares is that thread's.
#define __shared__ thread_local

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned in_x = 1, unsigned in_y = 1, unsigned in_z = 1)
      : x(in_x), y(in_y), z(in_z) {}
};

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

struct cudaLaunchConfig_t {
  dim3 gridDim{1, 1, 1};
  dim3 blockDim{1, 1, 1};
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

namespace moelab::cuda_emulation {

/// A line of the sources of kernels, at which a CUDA thread waits for others.
struct Line {
  const char* file;
  int number;
};

/// Enqueues a kernel: `thread` is called once for every CUDA thread. `parameters` are the types of
/// the kernel's parameters, which name it.
cudaError_t launch(const cudaLaunchConfig_t& config, const char* parameters,
                   std::function<void()> thread);

/// Barriers of the calling CUDA thread. Threads of a block that wait at different lines, or in
/// vain, become the error of the device.
void sync_threads(Line line);
void sync_warp(unsigned mask, Line line);

enum class Exchange { shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, all, any };

/// What the calling lane gets from the lanes of `mask`, all of which must make the same call. A
/// lane that is not in `mask`, or not there, gives bytes of ones.
std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, int parameter, int width,
                       Line line);

template <class Value>
Value shuffle(Exchange kind, unsigned mask, Value value, int parameter, int width, Line line) {
  static_assert(std::is_arithmetic_v<Value> && sizeof(Value) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange(kind, mask, bits, parameter, width, line);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class... Parameters>
const char* parameter_types() {
  return __PRETTY_FUNCTION__;
}

}  // namespace moelab::cuda_emulation

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  namespace emulation = moelab::cuda_emulation;
  return emulation::launch(
      *config, emulation::parameter_types<Parameters...>(),
      [kernel, values = std::tuple<std::decay_t<Parameters>...>(
                   std::forward<Arguments>(arguments)...)] { std::apply(kernel, values); });
}

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  moelab::cuda_emulation::sync_threads({file, line});
}

inline void __syncwarp(unsigned mask = 0xffffffff, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  moelab::cuda_emulation::sync_warp(mask, {file, line});
}

template <class Value>
Value __shfl_sync(unsigned mask, Value value, int lane, int width = warpSize,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  namespace emulation = moelab::cuda_emulation;
  return emulation::shuffle(emulation::Exchange::shuffle, mask, value, lane, width, {file, line});
}

template <class Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned distance, int width = warpSize,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  namespace emulation = moelab::cuda_emulation;
  return emulation::shuffle(emulation::Exchange::shuffle_up, mask, value,
                            static_cast<int>(distance), width, {file, line});
}

template <class Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned distance, int width = warpSize,
                       const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  namespace emulation = moelab::cuda_emulation;
  return emulation::shuffle(emulation::Exchange::shuffle_down, mask, value,
                            static_cast<int>(distance), width, {file, line});
}

template <class Value>
Value __shfl_xor_sync(unsigned mask, Value value, int distance, int width = warpSize,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  namespace emulation = moelab::cuda_emulation;
  return emulation::shuffle(emulation::Exchange::shuffle_xor, mask, value, distance, width,
                            {file, line});
}

/// The number of the lowest bit that is set, from 1 on; 0 where there is none.
inline int __ffs(int bits) { return __builtin_ffs(bits); }

inline unsigned __ballot_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE()) {
  namespace emulation = moelab::cuda_emulation;
  return static_cast<unsigned>(emulation::exchange(
      emulation::Exchange::ballot, mask, predicate != 0 ? 1 : 0, 0, warpSize, {file, line}));
}

inline int __any_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  namespace emulation = moelab::cuda_emulation;
  return static_cast<int>(emulation::exchange(emulation::Exchange::any, mask,
                                              predicate != 0 ? 1 : 0, 0, warpSize, {file, line}));
}

inline int __all_sync(unsigned mask, int predicate, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  namespace emulation = moelab::cuda_emulation;
  return static_cast<int>(emulation::exchange(emulation::Exchange::all, mask,
                                              predicate != 0 ? 1 : 0, 0, warpSize, {file, line}));
}

/// Kernels of different streams run at the same time, so that these are the processor's own.
template <class Value>
Value atomicAdd(Value* target, Value value) {
  Value before;
  __atomic_load(target, &before, __ATOMIC_RELAXED);
  for (;;) {
    Value after = static_cast<Value>(before + value);
    if (__atomic_compare_exchange(target, &before, &after, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
      return before;
    }
  }
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
