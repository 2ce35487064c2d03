#pragma once

#include "moe/backend/backend.h"

namespace moe {

/// How the calling thread, which drives `stream`, shares a core with others. One that computes (SCHED_BATCH) takes over
/// when the one that runs sleeps, or at the kernel's next tick; any other, which sleeps most of the time while a link, a
/// copy or a device is waited for, runs as soon as it wakes, in short slices. Threads that it starts inherit it. Needs
/// no rights and changes no niceness; slices are Linux's from 6.12 on: before, and where the kernel refuses, threads
/// take turns as ever.
void share_core_as(Backend& backend, Stream stream);

}  // namespace moe
