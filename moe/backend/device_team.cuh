#pragma once

#include <cstdint>
#include <type_traits>

#include "moe/backend/cuda_pack.cuh"

namespace moe {

/// The team of a row on the device: `threads` neighbouring threads, a warp or a whole block. Its
/// functions are those of SerialTeam, whose comment is their contract. The order of sums depends
/// only on n and `threads`.
template <int threads>
class DeviceTeam {
  static_assert(threads == 32 || (threads % 32 == 0 && (threads & (threads - 1)) == 0));

 public:
  template <class F>
  __device__ void for_each(std::int64_t n, F f) const {
    for (std::int64_t i = rank(); i < n; i += threads) f(i);
  }

  template <class Out, class F, class... In>
  __device__ void map(std::int64_t n, Out* out, F f, const In*... in) const {
    map_elements(n, rank(), threads, out, f, in...);
  }

  template <class Out, class F, class... T>
  __device__ void update(std::int64_t n, Out* out, F f, T*... arrays) const {
    map_elements(n, rank(), threads, out, f, arrays...);
  }

  template <class F>
  __device__ auto sum(std::int64_t n, F f) const {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    Value value{};
    for (std::int64_t i = rank(); i < n; i += threads) value += f(i);
    return reduce(value, [](Value a, Value b) { return a + b; });
  }

  template <class F>
  __device__ auto max(std::int64_t n, F f) const {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    Value value = f(0);
    for (std::int64_t i = rank(); i < n; i += threads) {
      const Value next = f(i);
      value = next > value ? next : value;
    }
    return reduce(value, [](Value a, Value b) { return b > a ? b : a; });
  }

  template <class F>
  __device__ std::int64_t first(std::int64_t begin, std::int64_t end, F f) const {
    for (std::int64_t tile = begin; tile < end; tile += threads) {
      const std::int64_t i = tile + rank();
      if constexpr (threads == 32) {
        const unsigned lanes = __ballot_sync(kAll, i < end && f(i) ? 1 : 0);
        if (lanes != 0) return tile + __ffs(static_cast<int>(lanes)) - 1;
      } else {
        const long long found = i < end && f(i) ? i : end;
        const long long lowest =
            reduce(found, [](long long a, long long b) { return b < a ? b : a; });
        if (lowest < end) return lowest;
      }
    }
    return end;
  }

  template <class F, class G>
  __device__ auto scan(std::int64_t n, F f, G g) const {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    Value before{};
    for (std::int64_t tile = 0; tile < n; tile += threads) {
      const std::int64_t i = tile + rank();
      const Value value = i < n ? f(i) : Value{};
      Value inclusive = value;
      for (int distance = 1; distance < 32; distance *= 2) {
        const Value lower = __shfl_up_sync(kAll, inclusive, distance);
        if (lane() >= distance) inclusive += lower;
      }
      Value total = __shfl_sync(kAll, inclusive, 31);
      if constexpr (threads > 32) {
        __shared__ Value of_warp[threads / 32];
        __syncthreads();
        if (lane() == 31) of_warp[warp()] = inclusive;
        __syncthreads();
        total = Value{};
        for (int other = 0; other < threads / 32; ++other) {
          if (other == warp()) inclusive += total;
          total += of_warp[other];
        }
      }
      if (i < n) g(i, before + inclusive - value);
      before += total;
    }
    return before;
  }

  __device__ void sync() const {
    if constexpr (threads > 32) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
  __device__ bool leader() const { return rank() == 0; }

 private:
  static constexpr unsigned kAll = 0xffffffff;

  __device__ static int rank() { return static_cast<int>(threadIdx.x) % threads; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

  /// A butterfly reduction: every thread ends with the same bits, since a + b and b + a are the
  /// same.
  template <class Value, class Operation>
  __device__ static Value reduce(Value value, Operation operation) {
    static_assert(std::is_arithmetic_v<Value>, "sums are made in Wide<Stored> (kernels/bf16.h)");
    for (int distance = 16; distance > 0; distance /= 2) {
      value = operation(value, __shfl_xor_sync(kAll, value, distance));
    }
    if constexpr (threads > 32) {
      constexpr int warps = threads / 32;
      __shared__ Value of_warp[warps];
      __syncthreads();  // the last reduction has been read by all
      if (lane() == 0) of_warp[warp()] = value;
      __syncthreads();
      value = of_warp[lane() % warps];
      for (int distance = warps / 2; distance > 0; distance /= 2) {
        value = operation(value, __shfl_xor_sync(kAll, value, distance));
      }
    }
    return value;
  }
};

}  // namespace moe
