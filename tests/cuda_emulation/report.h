#pragma once

#include <cstdint>

#include "tests/cuda_emulation/device_memory.h"

/// What a process has asked of its devices. With MOELAB_EMULATED_REPORT=1 it writes that to stderr
/// when it ends, a line of words and whole bytes that scripts read:
///
///     emulated: pinned 17104896 device 120586240 up 80216 down 5120 across 0
namespace moelab::cuda_emulation {

/// Memory of the host that is pinned, or of devices that is taken; negative where it is given back.
void count_memory(MemoryKind kind, std::int64_t bytes);
/// A copy between memory of these kinds.
void count_copy(MemoryKind to, MemoryKind from, std::int64_t bytes);

}  // namespace moelab::cuda_emulation
