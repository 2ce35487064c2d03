#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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
__device__ const Pack<T, width>& pack_at(const T* at, std::int64_t place) {
  return *reinterpret_cast<const Pack<T, width>*>(at + place * width);
}

/// out[i] = f(in[i]...) for the elements of one pack of each.
template <class Out, class F, class... In, int width>
__device__ void map_pack(Out* out, std::int64_t place, F f, Pack<In, width>... in) {
  Pack<Out, width> result;
  for (int i = 0; i < width; ++i) result.value[i] = f(in.value[i]...);
  *reinterpret_cast<Pack<Out, width>*>(out + place * width) = result;
}

/// out[i] = f(in[i]...) for i < n, by thread `rank` of `threads`: in packs where addresses allow.
template <class Out, class F, class... In>
__device__ void map_elements(std::int64_t n, std::int64_t rank, std::int64_t threads, Out* out, F f,
                             const In*... in) {
  constexpr int width = kPackWidth<Out, In...>;
  std::int64_t packs = 0;
  if (begin_packs<width>(out, in...)) {
    packs = n / width;
    for (std::int64_t place = rank; place < packs; place += threads) {
      map_pack<Out, F, In...>(out, place, f, pack_at<width>(in, place)...);
    }
  }
  for (std::int64_t i = packs * width + rank; i < n; i += threads) out[i] = f(in[i]...);
}

}  // namespace moe
