#include <cstdint>
#include <cstring>

#include "tests/cuda_emulation/fiber.h"

// What a call must leave as it was is on the stack while a fiber waits. No system call is made.
asm(R"(
  .text
  .hidden moelab_switch_stack
  .globl moelab_switch_stack
  .type moelab_switch_stack, @function
moelab_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size moelab_switch_stack, .-moelab_switch_stack
)");
extern "C" void moelab_switch_stack(void** from, void* to);

namespace moelab::cuda_emulation {

void* first_place(std::byte* end, void (*entry)()) {
  // From the place up: six registers, the address to return to, and one word that stands for the
  // caller's, so that the stack is aligned as after a call.
  constexpr std::size_t words = 8;
  std::uintptr_t first[words] = {};
  first[6] = reinterpret_cast<std::uintptr_t>(entry);
  std::byte* const place = end - sizeof first;
  std::memcpy(place, first, sizeof first);
  return place;
}

void switch_stack(void** from, void* to) { moelab_switch_stack(from, to); }

}  // namespace moelab::cuda_emulation
