#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace moe {

/// `width` adjoining elements, which a thread of the device loads and stores 16 bytes at a time.
template <class T, int width>
struct alignas(std::min<std::size_t>(width * sizeof(T), 16)) Pack {
  T value[width];
};

/// How many elements make 16 bytes of the smallest of these types.
template <class... T>
inline constexpr int kPackWidth = 16 / std::min<int>({sizeof(T)...});

/// Whether packs can begin at all these addresses.
template <int width, class... T>
__device__ bool begin_packs(const T*... at) {
  return (... && (reinterpret_cast<std::uintptr_t>(at) % alignof(Pack<T, width>) == 0));
}

template <int width, class T>
__device__ auto& pack_at(T* at, std::int64_t place) {
  using Packs = Pack<std::remove_const_t<T>, width>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Packs, Packs>*>(at)[place];
}

template <int width, class T>
__device__ void store_pack(T* at, std::int64_t place,
                           const Pack<std::remove_const_t<T>, width>& pack) {
  if constexpr (!std::is_const_v<T>) pack_at<width>(at, place) = pack;
}

/// map_elements() for the elements of one pack of each array.
template <int width, class Out, class F, class... In>
__device__ void map_pack(std::int64_t place, Out* out, F f, In*... in) {
  // All are loaded before the first is stored.
  const auto on = [=](Pack<std::remove_const_t<In>, width>... packs) {
    Pack<Out, width> result;
    for (int i = 0; i < width; ++i) result.value[i] = f(packs.value[i]...);
    (store_pack<width>(in, place, packs), ...);
    pack_at<width>(out, place) = result;
  };
  on(pack_at<width>(in, place)...);
}

/// out[i] = f(in[i]...) for i < n, by thread `rank` of `threads`: in packs where addresses allow.
/// f may change elements of arrays that are not const.
template <class Out, class F, class... In>
__device__ void map_elements(std::int64_t n, std::int64_t rank, std::int64_t threads, Out* out, F f,
                             In*... in) {
  constexpr int width = kPackWidth<Out, In...>;
  std::int64_t packs = 0;
  if (begin_packs<width>(out, in...)) {
    packs = n / width;
    for (std::int64_t place = rank; place < packs; place += threads) {
      map_pack<width>(place, out, f, in...);
    }
  }
  for (std::int64_t i = packs * width + rank; i < n; i += threads) out[i] = f(in[i]...);
}

}  // namespace moe
