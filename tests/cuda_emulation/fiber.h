#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace moelab::cuda_emulation {

/// A stack of its own, on which a CUDA thread runs until it waits. Its thread of the host switches
/// between fibers; they never leave it.
struct Fiber {
  void* place = nullptr;      ///< where it goes on
  void* sanitizer = nullptr;  ///< what the thread sanitizer knows it by
};

/// The fibers of one thread of the host, and the thread's own stack as the first of them.
class Fibers {
 public:
  /// `entry` runs on each fiber, and must never return.
  explicit Fibers(void (*entry)());
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  Fiber& own() { return own_; }
  Fiber& at(int index) { return *fibers_[static_cast<std::size_t>(index)].fiber; }
  int count() const { return static_cast<int>(fibers_.size()); }
  /// Adds one and returns its index.
  int add();
  /// Forgets what all of them do: they begin anew with `entry`.
  void start_anew();

 private:
  struct Stack {
    std::unique_ptr<Fiber> fiber;
    std::byte* memory;
  };
  void (*entry_)();
  Fiber own_;
  std::vector<Stack> fibers_;
};

/// Leaves `from`, which goes on when somebody switches to it. The thread sanitizer takes nothing
/// that one did as having happened before what the other does.
void switch_fiber(Fiber& from, Fiber& to);

/// Readies the stack that ends at `end` so that the first switch to it calls `entry`.
void* first_place(std::byte* end, void (*entry)());
/// Keeps the present place in `*from` and goes on at `to`.
void switch_stack(void** from, void* to);

}  // namespace moelab::cuda_emulation
