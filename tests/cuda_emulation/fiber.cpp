#include "tests/cuda_emulation/fiber.h"

#include <sys/mman.h>

#include <new>

#include "tests/cuda_emulation/thread_sanitizer.h"

namespace moelab::cuda_emulation {
namespace {

constexpr std::size_t kStackBytes = 128 << 10, kGuardBytes = 4 << 10;

}  // namespace

Fibers::Fibers(void (*entry)()) : entry_(entry) { own_.sanitizer = sanitizer_own_fiber(); }

Fibers::~Fibers() {
  for (const Stack& stack : fibers_) {
    sanitizer_destroy_fiber(stack.fiber->sanitizer);
    munmap(stack.memory, kStackBytes);
  }
}

int Fibers::add() {
  void* const memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kGuardBytes, PROT_NONE);  // where the stack overflows
  auto fiber = std::make_unique<Fiber>();
  auto* const begin = static_cast<std::byte*>(memory);
  fiber->place = first_place(begin + kStackBytes, entry_);
  fiber->sanitizer = sanitizer_create_fiber();
  fibers_.push_back({std::move(fiber), begin});
  return count() - 1;
}

void Fibers::start_anew() {
  for (const Stack& stack : fibers_) {
    stack.fiber->place = first_place(stack.memory + kStackBytes, entry_);
  }
}

void switch_fiber(Fiber& from, Fiber& to) {
  sanitizer_switch_fiber(to.sanitizer);
  switch_stack(&from.place, to.place);
}

}  // namespace moelab::cuda_emulation
