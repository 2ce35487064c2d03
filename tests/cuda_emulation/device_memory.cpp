#include "tests/cuda_emulation/device_memory.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/report.h"
#include "tests/cuda_emulation/settings.h"
#include "tests/cuda_emulation/stream.h"
#include "tests/cuda_emulation/streams.h"
#include "tests/cuda_emulation/thread_sanitizer.h"
#include "tests/cuda_emulation/unwritten.h"

namespace moelab::cuda_emulation {
namespace {

struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;  ///< by begin
  std::map<int, std::size_t> device_bytes;           ///< by device
  std::atomic<std::int64_t> count = 0;               ///< allocations asked for so far
};

Memory& memory() {
  static Memory& all = *new Memory;  // outlives the threads of streams
  return all;
}

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::string hex(std::uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

std::size_t pages_of(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

constexpr std::size_t kOnesBytes = 8 << 20;

/// A file in memory, all of whose bytes are ones.
int file_of_ones() {
  static const int file = [] {
    const int made = memfd_create("moelab_cuda_emulation", MFD_CLOEXEC);
    if (made < 0 || ftruncate(made, kOnesBytes) != 0) throw std::bad_alloc();
    void* const bytes = mmap(nullptr, kOnesBytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (bytes == MAP_FAILED) throw std::bad_alloc();
    std::memset(bytes, 0xff, kOnesBytes);
    munmap(bytes, kOnesBytes);
    return made;
  }();
  return file;
}

/// Pages of ones, which take memory when they are written to. nullptr where there is no room.
std::byte* map_ones(std::size_t bytes, MemoryKind kind) {
  std::byte* const begin = take_addresses(bytes, kind);
  if (begin == nullptr) return nullptr;
  for (std::size_t at = 0; at < bytes; at += kOnesBytes) {
    if (mmap(begin + at, std::min(kOnesBytes, bytes - at), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_of_ones(), 0) == MAP_FAILED) {
      give_addresses(begin, bytes);
      return nullptr;
    }
  }
  return begin;
}

cudaError_t allocate(void** result, std::size_t bytes, MemoryKind kind) {
  if (bytes == 0) {
    *result = nullptr;
    return cudaSuccess;
  }
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  if (++all.count == settings().failing_allocation) return cudaErrorMemoryAllocation;
  std::size_t& used = all.device_bytes[current_device()];
  if (kind == MemoryKind::device && bytes > settings().memory_bytes - used) {
    return cudaErrorMemoryAllocation;
  }
  std::byte* const begin = map_ones(pages_of(bytes), kind);
  if (begin == nullptr) return cudaErrorMemoryAllocation;
  if (kind == MemoryKind::device) used += bytes;
  all.allocations[address_of(begin)] = {begin, bytes, kind, current_device()};
  count_memory(kind, static_cast<std::int64_t>(bytes));
  *result = begin;
  return cudaSuccess;
}

/// Memory that is given back is no longer mapped: what still uses it faults.
cudaError_t give_back(void* pointer, MemoryKind kind, const char* who) {
  if (pointer == nullptr) return cudaSuccess;
  Memory& all = memory();
  Allocation allocation;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.allocations.find(address_of(pointer));
    if (found == all.allocations.end() || found->second.kind != kind) {
      throw Refusal(cudaErrorInvalidValue, std::string(who) + ": " + hex(address_of(pointer)) +
                                               " is not what such a call returned");
    }
    allocation = found->second;
  }
  synchronize(allocation.device);
  const std::lock_guard lock(all.mutex);
  if (kind == MemoryKind::device) all.device_bytes[allocation.device] -= allocation.bytes;
  all.allocations.erase(address_of(pointer));
  count_memory(kind, -static_cast<std::int64_t>(allocation.bytes));
  give_addresses(allocation.begin, pages_of(allocation.bytes));
  return cudaSuccess;
}

}  // namespace

std::optional<Allocation> allocation_of(const void* pointer) {
  const Unordered unordered;
  Memory& all = memory();
  const std::lock_guard lock(all.mutex);
  auto after = all.allocations.upper_bound(address_of(pointer));
  if (after == all.allocations.begin()) return std::nullopt;
  const Allocation& allocation = std::prev(after)->second;
  const bool inside = address_of(pointer) < address_of(allocation.begin) + allocation.bytes;
  return inside ? std::optional(allocation) : std::nullopt;
}

std::string text_of(const void* pointer) {
  const auto allocation = allocation_of(pointer);
  if (!allocation) return "pageable memory " + hex(address_of(pointer));
  const std::size_t offset = address_of(pointer) - address_of(allocation->begin);
  return std::string(allocation->kind == MemoryKind::device ? "device" : "pinned") +
         " memory (byte " + std::to_string(offset) + " of " + std::to_string(allocation->bytes) +
         ")";
}

void check_device_pointer(const void* pointer, std::size_t bytes, const char* who) {
  if (bytes == 0) return;
  const auto allocation = allocation_of(pointer);
  const std::string given =
      std::string(who) + ": " + std::to_string(bytes) + " bytes at " + text_of(pointer);
  if (!allocation) throw std::invalid_argument(given + ": expected device or pinned memory");
  if (address_of(pointer) + bytes > address_of(allocation->begin) + allocation->bytes) {
    throw std::invalid_argument(given + ": expected them to end with the allocation");
  }
}

}  // namespace moelab::cuda_emulation

namespace emulation = moelab::cuda_emulation;
using emulation::MemoryKind;

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return emulation::runtime_call(
      [&] { return emulation::allocate(memory, bytes, MemoryKind::device); });
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return emulation::runtime_call(
      [&] { return emulation::allocate(memory, bytes, MemoryKind::pinned); });
}

cudaError_t cudaFree(void* memory) {
  return emulation::runtime_call(
      [&] { return emulation::give_back(memory, MemoryKind::device, "cudaFree"); });
}

cudaError_t cudaFreeHost(void* memory) {
  return emulation::runtime_call(
      [&] { return emulation::give_back(memory, MemoryKind::pinned, "cudaFreeHost"); });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return emulation::runtime_call([&] {
    emulation::Memory& all = emulation::memory();
    const std::lock_guard lock(all.mutex);
    *total = emulation::settings().memory_bytes;
    *free = *total - all.device_bytes[emulation::current_device()];
    return cudaSuccess;
  });
}
