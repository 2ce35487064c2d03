#include "moe/train/guarded_copy.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace moe {
namespace {

/// The copy of a thread: where it goes on when a page is missing, and which one that was.
struct CopyUnderWay {
  sigjmp_buf out;
  const void* missing = nullptr;
};

thread_local CopyUnderWay* volatile copy_under_way = nullptr;
struct sigaction handler_before;

void leave_copy(int signal, siginfo_t* info, void*) {
  if (copy_under_way != nullptr) {
    copy_under_way->missing = info->si_addr;
    siglongjmp(copy_under_way->out, 1);
  }
  // Not of a copy: the instruction runs again, under the handler that was there before.
  sigaction(signal, &handler_before, nullptr);
}

bool handle_missing_pages() {
  struct sigaction handler {};
  handler.sa_sigaction = leave_copy;
  handler.sa_flags = SA_SIGINFO;
  sigemptyset(&handler.sa_mask);
  return sigaction(SIGBUS, &handler, &handler_before) == 0;
}

}  // namespace

std::size_t guarded_copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (from.empty()) return 0;  // there may be no memory behind it
  [[maybe_unused]] static const bool is_handled = handle_missing_pages();
  CopyUnderWay copy;
  if (sigsetjmp(copy.out, 1) == 0) {
    copy_under_way = &copy;
    // The handler looks at it, which the compiler cannot see.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memcpy(to.data(), from.data(), from.size());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    copy_under_way = nullptr;
    return from.size();
  }
  copy_under_way = nullptr;
  const auto missing = static_cast<const std::byte*>(copy.missing) - from.data();
  return missing > 0 ? static_cast<std::size_t>(missing) : 0;
}

}  // namespace moe
