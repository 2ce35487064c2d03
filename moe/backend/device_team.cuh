#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "moe/backend/cuda_pack.cuh"
#include "moe/kernels/bf16.h"
#include "moe/kernels/device.h"

namespace moe {

/// The team of a row on the device: `threads` neighbouring threads, a warp or a whole block. Its
/// functions are those of SerialTeam, whose comment is their contract. The order of sums depends
/// only on n, the types and `threads`.
template <int threads>
class DeviceTeam {
  static_assert(threads == 32 || (threads % 32 == 0 && (threads & (threads - 1)) == 0));

 public:
  template <class F>
  __device__ void for_each(std::int64_t n, F f) const {
    for (std::int64_t i = rank(); i < n; i += threads) f(i);
  }

  template <class Out, class F, class... In>
  __device__ void map(std::int64_t n, Out* out, F f, const In&... in) const {
    map_elements<true>(n, rank(), threads, out, f, constant(in)...);
  }

  template <class Out, class F, class... T>
  __device__ void update(std::int64_t n, Out* out, F f, T*... arrays) const {
    map_elements<true>(n, rank(), threads, out, f, arrays...);
  }

  template <class T>
  __device__ HeldRow<T> hold(std::int64_t n, const T* in) const {
    constexpr int width = kPackWidth<T>;
    HeldRow<T> held{in, begin_packs<width>(in), {}};
    for_packs<width, true, true>(
        n, rank(), threads, held.kept,
        [&](std::int64_t place, auto nth) {
          constexpr int which = decltype(nth)::value;
          if constexpr (which < kHeldPacks) held.packs[which] = pack_at<width>(in, place);
        },
        [](std::int64_t) {});
    return held;
  }
  template <class Out, class F, class... In>
  __device__ HeldRow<Out> hold(std::int64_t n, Out* out, F f, const In*... in) const {
    return map_and_hold<true, true>(n, rank(), threads, out, f, in...);
  }

  template <class F>
  __device__ auto sum(std::int64_t n, F f) const {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    Value value{};
    for (std::int64_t i = rank(); i < n; i += threads) value += f(i);
    return reduce(value, plus<Value>);
  }
  template <class F, class... In>
  requires(sizeof...(In) > 0) __device__ auto sum(std::int64_t n, F f, const In&... in) const {
    using Value = std::decay_t<decltype(f(Element<In>{}...))>;
    Value value{};
    visit_elements(
        n, rank(), threads, [&](auto... elements) { value += f(elements...); }, constant(in)...);
    return reduce(value, plus<Value>);
  }

  template <class F>
  __device__ auto max(std::int64_t n, F f) const {
    using Value = std::decay_t<decltype(f(std::int64_t{0}))>;
    Value value = f(0);
    for (std::int64_t i = rank(); i < n; i += threads) value = larger<Value>(value, f(i));
    return reduce(value, larger<Value>);
  }
  template <class F, class T>
  __device__ auto max(std::int64_t n, F f, const T* in) const {
    using Value = std::decay_t<decltype(f(*in))>;
    Value value = f(*in);
    visit_elements(
        n, rank(), threads, [&](T element) { value = larger<Value>(value, f(element)); }, in);
    return reduce(value, larger<Value>);
  }

  template <class Stored, class Out, class At>
  __device__ void sum_rows(std::int64_t n, Out* out, bool onto, std::int64_t count,
                           const Stored* from, std::int64_t stride, At at) const {
    using Real = Wide<Stored>;
    constexpr int width = kPackWidth<Stored>;
    if (n % width != 0 || stride % width != 0 || !begin_packs<width>(from, out)) {
      for (std::int64_t c = rank(); c < n; c += threads) {
        Real sum = onto ? Real(out[c]) : Real(0);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto [row, weight] = at(i);
          if (row >= 0) sum += weight * from[row * stride + c];
        }
        out[c] = sum;
      }
      return;
    }
    for (std::int64_t place = rank(); place < n / width; place += threads) {
      Pack<Real, width> sums{};
      if (onto) {
        const Pack<Out, width> old = pack_at<width>(out, place);
        for (int c = 0; c < width; ++c) sums.value[c] = old.value[c];
      }
      for (std::int64_t first = 0; first < count; first += At::kAtOnce) {
        add_rows(sums, first, count, at,
                 [=](std::int64_t row) { return pack_at<width>(from + row * stride, place); });
      }
      Pack<Out, width> result;
      for (int c = 0; c < width; ++c) result.value[c] = sums.value[c];
      pack_at<width>(out, place) = result;
    }
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

  /// An array of numbers that are not changed, or a held row.
  template <class T>
  __device__ static const T* constant(T* array) {
    return array;
  }
  template <class T>
  __device__ static const HeldRow<T>& constant(const HeldRow<T>& row) {
    return row;
  }

  template <class Value>
  __device__ static Value plus(Value a, Value b) {
    return a + b;
  }
  template <class Value>
  __device__ static Value larger(Value a, Value b) {
    return b > a ? b : a;
  }

  /// Adds the packs of rows `first` to `first` + kAtOnce - 1 that are there. All are loaded before
  /// the first is added.
  template <class Sums, class At, class Load>
  __device__ static void add_rows(Sums& sums, std::int64_t first, std::int64_t count, At at,
                                  Load load) {
    using Row = decltype(load(std::int64_t{}));
    Row packs[At::kAtOnce];
    decltype(at(first).weight) weights[At::kAtOnce];
    bool is_there[At::kAtOnce];
    MOE_UNROLL for (int k = 0; k < At::kAtOnce; ++k) {
      is_there[k] = false;
      if (first + k >= count) continue;
      const auto [row, weight] = at(first + k);
      is_there[k] = row >= 0;
      weights[k] = weight;
      if (is_there[k]) packs[k] = load(row);
    }
    MOE_UNROLL for (int k = 0; k < At::kAtOnce; ++k) {
      if (!is_there[k]) continue;
      for (std::size_t c = 0; c < std::size(sums.value); ++c) {
        sums.value[c] += weights[k] * packs[k].value[c];
      }
    }
  }

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
