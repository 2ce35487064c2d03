#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "moe/kernels/device.h"

namespace moe {

/// What a thread of a device loads and stores at a time, at most.
inline constexpr int kPackBytes = 16;

/// `width` adjoining elements.
template <class T, int width>
struct alignas(std::min<std::size_t>(width * sizeof(T), kPackBytes)) Pack {
  T value[width];
};

/// How many elements make kPackBytes of the smallest of these types.
template <class... T>
inline constexpr int kPackWidth = kPackBytes / std::min<int>({sizeof(T)...});

/// Whether packs can begin at all these addresses.
template <int width, class... T>
MOE_BODY bool begin_packs(const T*... at) {
  return (... && (reinterpret_cast<std::uintptr_t>(at) % alignof(Pack<T, width>) == 0));
}

/// The pack that is `place` packs after `at`.
template <int width, class T>
MOE_BODY auto& pack_at(T* at, std::int64_t place) {
  using Packs = Pack<std::remove_const_t<T>, width>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Packs, Packs>*>(at)[place];
}

}  // namespace moe
