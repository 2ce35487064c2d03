#pragma once

// What the thread sanitizer is told: which fiber runs, and what orders fibers. Nothing without it.
#ifdef MOELAB_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace moelab::cuda_emulation {

#ifdef MOELAB_THREAD_SANITIZER
inline constexpr bool kFiberPerThread = true;
inline void* sanitizer_own_fiber() { return __tsan_get_current_fiber(); }
inline void* sanitizer_create_fiber() { return __tsan_create_fiber(0); }
inline void sanitizer_destroy_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
inline void sanitizer_switch_fiber(void* fiber) {
  __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync);
}
inline void sanitizer_release(void* tag) { __tsan_release(tag); }
inline void sanitizer_acquire(void* tag) { __tsan_acquire(tag); }
#else
/// Whether a fiber serves one CUDA thread alone, or the next where that has ended.
inline constexpr bool kFiberPerThread = false;
inline void* sanitizer_own_fiber() { return nullptr; }
inline void* sanitizer_create_fiber() { return nullptr; }
inline void sanitizer_destroy_fiber(void*) {}
inline void sanitizer_switch_fiber(void*) {}
inline void sanitizer_release(void*) {}
inline void sanitizer_acquire(void*) {}
#endif

}  // namespace moelab::cuda_emulation
