#pragma once

/// libgomp is not instrumented, so the thread sanitizer does not see that the threads of a parallel
/// loop begin after the code before the loop and end before the code after it. A function with such
/// a loop is therefore marked MOELAB_NOT_INSTRUMENTED (the compiler passes the loop's variables to
/// the threads), and calls happens_before and happens_after at either end, in the caller and in the
/// threads. Without the sanitizer all this is empty.
#ifdef __SANITIZE_THREAD__

#include <sanitizer/tsan_interface.h>

#define MOELAB_NOT_INSTRUMENTED __attribute__((no_sanitize("thread")))

namespace moe {

inline void happens_before(void* what) { __tsan_release(what); }
inline void happens_after(void* what) { __tsan_acquire(what); }

}  // namespace moe

#else

#define MOELAB_NOT_INSTRUMENTED

namespace moe {

inline void happens_before(void*) {}
inline void happens_after(void*) {}

}  // namespace moe

#endif
