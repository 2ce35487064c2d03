#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "moe/kernels/wide_loads.h"

/// How threads share the elements of arrays: thread `rank` of `threads` has the packs `rank`,
/// `rank` + `threads` and so on, 16 bytes of the smallest type, or such elements where packs do not
/// divide n. In a team (`fixed`) addresses decide how it loads them, but not which it has: so a thread
/// finds again what it wrote itself, and sums have one order.
namespace moe {

/// How many of its packs of a row a thread keeps in registers.
inline constexpr int kHeldPacks = 4;

/// A row that is read more than once, and what its thread keeps of it.
template <class T>
struct HeldRow {
  const T* at;
  bool kept;  ///< otherwise it is read from memory each time
  Pack<T, kPackWidth<T>> packs[kHeldPacks];
};

/// Arrays and held rows have the same functions.
template <class T>
std::remove_const_t<T> element_of(T*);
template <class T>
T element_of(const HeldRow<T>&);
template <class Row>
using Element = decltype(element_of(std::declval<const Row&>()));
template <class Row>
inline constexpr bool kIsHeld = !std::is_pointer_v<Row>;

template <class T>
__device__ T* address_of(T* at) {
  return at;
}
template <class T>
__device__ const T* address_of(const HeldRow<T>& row) {
  return row.at;
}

template <int width, class T>
__device__ bool has_packs(const T* at) {
  return begin_packs<width>(at);
}
template <int width, class T>
__device__ bool has_packs(const HeldRow<T>& row) {
  return row.kept;
}

/// The `nth` pack of a thread, the one at `place`.
template <int width, int nth, class T>
__device__ Pack<std::remove_const_t<T>, width> load_pack(T* at, std::int64_t place) {
  return pack_at<width>(at, place);
}
template <int width, int nth, class T>
__device__ Pack<T, width> load_pack(const HeldRow<T>& row, std::int64_t place) {
  static_assert(width == kPackWidth<T>, "a row that is held meets others of its type only");
  if constexpr (nth < kHeldPacks) {
    return row.packs[nth];
  } else {
    return pack_at<width>(row.at, place);
  }
}
/// What f changed of arrays that are not const.
template <int width, class T>
__device__ void store_pack(T* at, std::int64_t place,
                           const Pack<std::remove_const_t<T>, width>& pack) {
  if constexpr (!std::is_const_v<T>) pack_at<width>(at, place) = pack;
}
template <int width, class T>
__device__ void store_pack(const HeldRow<T>&, std::int64_t, const Pack<T, width>&) {}

/// Calls pack(place, which pack of the thread it is) for the packs of a thread, where addresses allow
/// them (`wide`), and single(i) for its other elements; both in order. Which pack it is, is a
/// constant where it is less than kHeldPacks and `counted`.
template <int width, bool fixed, bool counted, class F, class G>
__device__ void for_packs(std::int64_t n, std::int64_t rank, std::int64_t threads, bool wide,
                          F pack, G single) {
  const bool divide = !fixed || n % width == 0;
  const std::int64_t full = wide && divide ? n / width : 0;
  std::int64_t place = rank;
  if constexpr (counted) {
    const auto one = [&](auto nth) {
      if (place < full) pack(place, nth), place += threads;
    };
    [&]<int... nth>(std::integer_sequence<int, nth...>) {
      (one(std::integral_constant<int, nth>{}), ...);
    }
    (std::make_integer_sequence<int, kHeldPacks>{});
  }
  for (; place < full; place += threads) pack(place, std::integral_constant<int, kHeldPacks>{});
  if (fixed && divide) {
    for (; place * width < n; place += threads) {
      for (int i = 0; i < width; ++i) single(place * width + i);
    }
  } else {
    for (std::int64_t i = full * width + rank; i < n; i += threads) single(i);
  }
}

/// out[i] = f(in[i]...) for i < n, by thread `rank` of `threads`. f may change elements of arrays
/// that are not const. Where `keeps`, the result holds what of `out` is the thread's.
template <bool fixed, bool keeps, class Out, class F, class... In>
__device__ HeldRow<Out> map_and_hold(std::int64_t n, std::int64_t rank, std::int64_t threads,
                                     Out* out, F f, const In&... in) {
  constexpr int width = kPackWidth<Out, Element<In>...>;
  static_assert(!keeps || width == kPackWidth<Out>, "a row that is held is of the smallest type");
  const bool wide = (begin_packs<width>(out) && ... && has_packs<width>(in));
  HeldRow<Out> held{out, wide, {}};
  const auto pack = [&](std::int64_t place, auto nth) {
    // All are loaded before the first is stored.
    const auto on = [&](Pack<Element<In>, width>... packs) {
      Pack<Out, width> result;
      for (int i = 0; i < width; ++i) result.value[i] = f(packs.value[i]...);
      (store_pack<width>(in, place, packs), ...);
      pack_at<width>(out, place) = result;
      if constexpr (keeps && decltype(nth)::value < kHeldPacks) held.packs[nth] = result;
    };
    on(load_pack<width, decltype(nth)::value>(in, place)...);
  };
  for_packs<width, fixed, keeps || (... || kIsHeld<In>)>(
      n, rank, threads, wide, pack, [&](std::int64_t i) { out[i] = f(address_of(in)[i]...); });
  return held;
}

template <bool fixed, class Out, class F, class... In>
__device__ void map_elements(std::int64_t n, std::int64_t rank, std::int64_t threads, Out* out, F f,
                             const In&... in) {
  map_and_hold<fixed, false>(n, rank, threads, out, f, in...);
}

/// Calls f(in[i]...) for the elements of thread `rank` of a team of `threads`, in order.
template <class F, class... In>
__device__ void visit_elements(std::int64_t n, std::int64_t rank, std::int64_t threads, F f,
                               const In&... in) {
  constexpr int width = kPackWidth<Element<In>...>;
  const auto pack = [&](std::int64_t place, auto nth) {
    const auto on = [&](const Pack<Element<In>, width>&... packs) {
      for (int i = 0; i < width; ++i) f(packs.value[i]...);
    };
    on(load_pack<width, decltype(nth)::value>(in, place)...);
  };
  for_packs<width, true, (... || kIsHeld<In>)>(n, rank, threads, (... && has_packs<width>(in)),
                                               pack,
                                               [&](std::int64_t i) { f(address_of(in)[i]...); });
}

}  // namespace moe
