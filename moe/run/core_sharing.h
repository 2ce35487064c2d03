#pragma once

#include "moe/backend/backend.h"

namespace moe {

/// Sets how the calling thread, which drives `stream`, shares a core with other threads. A thread
/// that computes (SCHED_BATCH) takes the core when the running thread sleeps, or at the kernel's
/// next tick. Any other thread sleeps most of the time, waiting for a link, a copy or a device; it
/// runs as soon as it wakes, in short time slices. Threads that it starts inherit this. It needs no
/// rights and changes no niceness. Time slices need Linux 6.12; with older kernels, or where the
/// kernel refuses, threads share the core as usual.
void share_core_as(Backend& backend, Stream stream);

}  // namespace moe
