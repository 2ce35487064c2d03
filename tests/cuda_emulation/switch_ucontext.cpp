#include <ucontext.h>

#include <new>

#include "tests/cuda_emulation/fiber.h"

// For processors without a switch of their own: each switch is a system call, and slow.
namespace moelab::cuda_emulation {
namespace {

constexpr std::size_t kStackBytes = 100 << 10;

}  // namespace

/// The context lies at the end of its own stack.
void* first_place(std::byte* end, void (*entry)()) {
  constexpr std::size_t room = (sizeof(ucontext_t) + 63) / 64 * 64;
  auto* const context = new (end - room) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = end - room - kStackBytes;
  context->uc_stack.ss_size = kStackBytes;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

void switch_stack(void** from, void* to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, static_cast<ucontext_t*>(to));
}

}  // namespace moelab::cuda_emulation
