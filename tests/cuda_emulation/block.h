#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/cuda_emulation/fiber.h"
#include "tests/cuda_emulation/settings.h"

namespace moelab::cuda_emulation {

inline constexpr int kMostThreads = 1024, kWarp = 32;

/// The ranks of a block's threads, and the best of those that can run. The thread of the best rank
/// goes on until it waits or a better one can run: orders are greedy, because equal progress of all
/// threads hides missing barriers.
class Turns {
 public:
  /// Ranks for `threads` threads, none of which can run. A drawn order is by warps, or by threads.
  void begin(Order order, int threads, Random& random);
  void can_run(int thread) { words_[word(thread)] |= bit(thread); }
  void cannot_run(int thread) { words_[word(thread)] &= ~bit(thread); }
  int best() const;  ///< -1: none can run
  /// Swaps the rank of a thread with another's.
  void demote(int thread, Random& random);

 private:
  std::size_t word(int thread) const { return static_cast<std::size_t>(rank_[thread]) / 64; }
  std::uint64_t bit(int thread) const { return std::uint64_t{1} << (rank_[thread] % 64); }

  int threads_ = 0;
  std::array<int, kMostThreads> rank_{}, at_{};
  std::array<std::uint64_t, kMostThreads / 64> words_{};
};

/// Runs the blocks of kernels, one after the other, on one thread of the host. Under the thread
/// sanitizer nothing is allocated on a fiber: memory would tie fibers to each other.
class Engine {
 public:
  Engine();

  /// Calls `thread` once for every CUDA thread of the grid. Throws Refusal where threads wait for
  /// each other wrongly or for ever.
  void run(dim3 grid, dim3 block, const std::function<void()>& thread, std::uint64_t draw);

  /// Ends the kernel that runs on this thread, if one does: a thread of it `does` what it must not.
  void refuse(const std::string& does);

  void sync_threads(Line line);
  void sync_warp(unsigned mask, Line line);
  std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, int parameter,
                         int width, Line line);

 private:
  /// The call at which a thread waits, or that it made last.
  struct Call {
    const char* name = nullptr;  ///< nullptr while it does not wait
    Line line{};
    unsigned mask = 0;
    Exchange kind{};
    std::uint64_t value = 0;
    int parameter = 0, width = 0;
  };
  struct Thread {
    int fiber = -1;
    bool ended = false;
    Call call;
    std::uint64_t result = 0;
  };
  /// Lanes of a warp that wait for each other.
  struct Group {
    unsigned mask = 0, arrived = 0;
    int first = 0;  ///< the lane that came first
  };
  struct Warp {
    unsigned live = 0;
    std::array<Group, kWarp> groups;  ///< the first `waiting` of them
    int waiting = 0;
    /// For the thread sanitizer: two tags in turns for each lowest lane of a mask.
    std::array<unsigned, kWarp> syncs{};
    std::array<std::array<char, 2>, kWarp> tags{};
  };

  static void entry();
  [[noreturn]] void run_threads();
  void run_block();
  void end_thread();
  void choose();
  void switch_to(int thread);
  int take_fiber();
  void add_fiber();
  void give_back(int fiber);
  [[noreturn]] void fault(std::string why);
  std::string deadlock() const;
  std::string place_of(int thread) const;

  void open_barrier();
  void meet(const Call& call);
  void deliver_if_all(Warp& warp, int first_thread);
  void deliver(const Group& group, int first_thread);
  std::uint64_t result_of(const Group& group, int first_thread, int lane, unsigned votes);

  Fibers fibers_;
  std::vector<int> free_;  ///< a ring of fibers, as long as all of them
  std::size_t first_free_ = 0, free_count_ = 0;
  const std::function<void()>* thread_ = nullptr;  ///< of the kernel that runs
  Random random_{0};
  int count_ = 0, live_ = 0, running_ = 0;
  std::vector<uint3> index_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Turns turns_;

  int at_barrier_ = 0, first_at_barrier_ = 0;
  std::uint64_t barriers_ = 0;
  std::array<char, 2> barrier_tags_{};
  char launch_tag_ = 0, end_tag_ = 0;
  std::string fault_;
};

/// That of the calling thread of the host.
Engine& engine();

/// Fills what blocks share, on the calling thread, with bytes of ones.
void poison_shared_memory();

}  // namespace moelab::cuda_emulation
