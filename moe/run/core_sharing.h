#pragma once

#include "moe/backend/backend.h"

namespace moe {

/// Sets how the calling thread, which drives `stream`, shares its core (moe/threads.h): as a thread
/// that computes, or as one that sleeps most of the time, waiting for a link, a copy or a device.
void share_core_as(Backend& backend, Stream stream);

}  // namespace moe
