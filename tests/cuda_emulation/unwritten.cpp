#include "tests/cuda_emulation/unwritten.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "moe/memory/memory_plan.h"
#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/device_memory.h"

extern "C" {
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
}

namespace moelab::cuda_emulation {
namespace {

/// Addresses of all devices' memory, and after them as many for a mark of every byte: all bits of
/// it are set where the byte was written.
constexpr std::uintptr_t kAddresses = std::uintptr_t{1} << 44;
/// Where they begin. No address is inside before the first allocation.
constinit std::atomic<std::uintptr_t> first_address = -kAddresses;
constinit std::uintptr_t addresses_taken = 0;

std::uintptr_t address_of(const volatile void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
bool is_marked(const volatile void* pointer) {
  return address_of(pointer) - first_address.load(std::memory_order_relaxed) < kAddresses;
}
std::byte* mark_of(const volatile void* pointer) {
  return reinterpret_cast<std::byte*>(address_of(pointer) + kAddresses);
}

/// Addresses without memory; nullptr where there are none.
std::byte* map_nothing(std::byte* begin, std::size_t bytes, int flags) {
  void* const room =
      mmap(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return room == MAP_FAILED ? nullptr : static_cast<std::byte*>(room);
}

/// Whether this thread runs a kernel of kernels/pattern.h, or of communicator/one_gpu.
constinit thread_local bool of_pattern = false, of_message = false;
/// What a product or a message has read first that nobody wrote.
thread_local std::string read_unwritten;

/// " (moe/kernels/add.h:30 moe/kernels/execute.h:12)", up to three lines of the product or its tests,
/// from what was inlined there outwards; "" where the program was compiled without lines.
std::string lines_of(void* place) {
  Dl_info info{};
  if (dladdr(place, &info) == 0) return "";
  // A call returns to the instruction behind it.
  const std::uintptr_t offset = address_of(place) - address_of(info.dli_fbase) - 1;
  char command[4200];
  std::snprintf(command, sizeof command, "addr2line -ie '%s' 0x%llx 2> /dev/null", info.dli_fname,
                static_cast<unsigned long long>(offset));
  std::FILE* const answer = popen(command, "r");
  if (answer == nullptr) return "";
  std::string lines;
  int left = 3;
  for (char line[4200]; std::fgets(line, sizeof line, answer) != nullptr;) {
    const std::string text(line, std::strcspn(line, " \n"));
    const std::size_t name = std::min(text.rfind("/moe/"), text.rfind("/tests/"));
    if (name == std::string::npos || left-- <= 0) continue;
    lines += (lines.empty() ? " (" : " ") + text.substr(name + 1);
  }
  pclose(answer);
  return lines.empty() ? "" : lines + ")";
}

/// Where a message of a kernel may have a gap. The kernel itself writes gaps, in any order, so what
/// follows does not tell; a tensor that nobody wrote is found by its first byte.
bool may_be_gap(const std::byte* unwritten) {
  return of_message && address_of(unwritten) % moe::kAlignment != 0;
}

/// `unwritten` is one of the `bytes` from `begin` on.
void refuse(const void* begin, std::size_t bytes, const std::byte* unwritten, void* place) {
  if (of_pattern || may_be_gap(unwritten) || !read_unwritten.empty()) return;
  std::string text = "reads " + std::to_string(bytes) + " bytes of " + text_of(begin) +
                     ", of which nobody wrote byte " +
                     std::to_string(unwritten - static_cast<const std::byte*>(begin)) +
                     lines_of(place);
  engine().refuse(text);
  read_unwritten = std::move(text);
}

const std::byte* first_unwritten(const void* begin, std::size_t bytes) {
  const void* const found = std::memchr(mark_of(begin), 0, bytes);
  return found == nullptr ? nullptr : static_cast<const std::byte*>(found) - kAddresses;
}

void check(const void* begin, std::size_t bytes, void* place) {
  if (!is_marked(begin)) return;
  const std::byte* const unwritten = first_unwritten(begin, bytes);
  if (unwritten != nullptr) refuse(begin, bytes, unwritten, place);
}

template <class Marks>
void check(const void* begin, void* place) {
  if (!is_marked(begin)) return;
  Marks marks;
  __builtin_memcpy(&marks, mark_of(begin), sizeof marks);
  if (marks != static_cast<Marks>(-1)) check(begin, sizeof marks, place);
}

/// Unwritten bytes may only be gaps between tensors.
void check_with_gaps(const void* begin, std::size_t bytes, void* place) {
  if (!is_marked(begin)) return;
  const std::byte* const end = static_cast<const std::byte*>(begin) + bytes;
  for (const auto* at = static_cast<const std::byte*>(begin); at < end;) {
    const std::byte* const gap = first_unwritten(at, static_cast<std::size_t>(end - at));
    if (gap == nullptr) return;
    const std::size_t in_tensor = address_of(gap) % moe::kAlignment;
    at = std::min(end, gap + (moe::kAlignment - in_tensor));
    const bool is_gap =
        in_tensor != 0 &&
        std::memchr(mark_of(gap), 0xff, static_cast<std::size_t>(at - gap)) == nullptr;
    if (!is_gap) return refuse(begin, bytes, gap, place);
  }
}

template <class Marks>
void mark(const void* begin) {
  const Marks marks = static_cast<Marks>(of_pattern ? 0 : -1);
  if (is_marked(begin)) __builtin_memcpy(mark_of(begin), &marks, sizeof marks);
}

void mark(const void* begin, std::size_t bytes) {
  if (is_marked(begin)) std::memset(mark_of(begin), of_pattern ? 0 : 0xff, bytes);
}

}  // namespace

std::byte* take_addresses(std::size_t bytes, MemoryKind kind) {
  if (kind != MemoryKind::device) return map_nothing(nullptr, bytes, 0);
  if (addresses_taken == 0) {
    std::byte* const all = map_nothing(nullptr, 2 * kAddresses, 0);
    if (all == nullptr) return nullptr;
    first_address = address_of(all);
  }
  if (bytes > kAddresses - addresses_taken) return nullptr;
  auto* const begin = reinterpret_cast<std::byte*>(first_address + addresses_taken);
  addresses_taken += bytes;
  const bool has_marks = mprotect(mark_of(begin), bytes, PROT_READ | PROT_WRITE) == 0;
  return has_marks ? begin : nullptr;
}

void give_addresses(std::byte* begin, std::size_t bytes) {
  if (!is_marked(begin)) {
    munmap(begin, bytes);
    return;
  }
  map_nothing(begin, bytes, MAP_FIXED);
  map_nothing(mark_of(begin), bytes, MAP_FIXED);
}

void copy_with_marks(void* to, const void* from, std::size_t bytes) {
  if (is_marked(to) && is_marked(from)) {
    std::memmove(mark_of(to), mark_of(from), bytes);
  } else {
    mark(to, bytes);
  }
  __real_memmove(to, from, bytes);
}

void watch_reads(const std::string& work) {
  of_pattern = work.find("Pattern") != std::string::npos;
  of_message = work.find("one_gpu::") != std::string::npos;
  read_unwritten.clear();
}

void refuse_unwritten() {
  if (!read_unwritten.empty()) throw Refusal(cudaErrorLaunchFailure, read_unwritten);
}

}  // namespace moelab::cuda_emulation

namespace emulation = moelab::cuda_emulation;

// What GCC calls before every access. These functions and their names are its own.
#define MOELAB_ACCESSES(bytes, Marks)                           \
  void __asan_load##bytes##_noabort(void* from) {               \
    emulation::check<Marks>(from, __builtin_return_address(0)); \
  }                                                             \
  void __asan_store##bytes##_noabort(void* to) { emulation::mark<Marks>(to); }

extern "C" {
MOELAB_ACCESSES(1, std::uint8_t)
MOELAB_ACCESSES(2, std::uint16_t)
MOELAB_ACCESSES(4, std::uint32_t)
MOELAB_ACCESSES(8, std::uint64_t)
MOELAB_ACCESSES(16, unsigned __int128)
void __asan_loadN_noabort(void* from, std::size_t bytes) {
  emulation::check(from, bytes, __builtin_return_address(0));
}
void __asan_storeN_noabort(void* to, std::size_t bytes) { emulation::mark(to, bytes); }
void __asan_handle_no_return() {}
void __asan_before_dynamic_init(const void*) {}
void __asan_after_dynamic_init() {}

// Linked with --wrap, these take the place of what GCC leaves to the sanitizer's library.
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  emulation::check_with_gaps(from, bytes, __builtin_return_address(0));
  emulation::mark(to, bytes);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  emulation::check_with_gaps(from, bytes, __builtin_return_address(0));
  emulation::mark(to, bytes);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  emulation::mark(to, bytes);
  return __real_memset(to, value, bytes);
}
}
