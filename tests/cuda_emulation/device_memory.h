#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace moelab::cuda_emulation {

enum class MemoryKind { device, pinned };

/// One allocation.
struct Allocation {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  int device = 0;
};

/// The allocation that `pointer` is in; none where it is pageable memory of the host.
std::optional<Allocation> allocation_of(const void* pointer);

/// "device memory" with address and size, or "pageable memory", for messages.
std::string text_of(const void* pointer);

}  // namespace moelab::cuda_emulation
