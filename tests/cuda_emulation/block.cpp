#include "tests/cuda_emulation/block.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/thread_sanitizer.h"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace moelab::cuda_emulation {
namespace {

std::string text_of(Line line) {
  return std::string(line.file) + ":" + std::to_string(line.number);
}

bool same(Line a, Line b) {
  return a.number == b.number && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

const char* name_of(Exchange kind) {
  constexpr const char* names[] = {"__shfl_sync",     "__shfl_up_sync", "__shfl_down_sync",
                                   "__shfl_xor_sync", "__ballot_sync",  "__all_sync",
                                   "__any_sync"};
  return names[static_cast<int>(kind)];
}

std::string hex(unsigned mask) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[mask >> shift & 15];
  return text;
}

/// The lane that a shuffle reads from. Past the ends of its segment a lane reads its own value.
int source_of(Exchange kind, int lane, int parameter, int width) {
  const int begin = width > 0 ? lane / width * width : 0, end = begin + width;
  switch (kind) {
    case Exchange::shuffle:
      return begin + (parameter & (width - 1));
    case Exchange::shuffle_up:
      return lane - parameter >= begin ? lane - parameter : lane;
    case Exchange::shuffle_down:
      return lane + parameter < end ? lane + parameter : lane;
    case Exchange::shuffle_xor:
      return (lane ^ parameter) < end ? lane ^ parameter : lane;
    case Exchange::ballot:
    case Exchange::all:
    case Exchange::any:
      break;
  }
  return lane;
}

/// How many fibers the thread sanitizer gets for blocks of this many threads: two blocks' worth, so
/// that those which follow each other are not ordered by their fibers. Each takes some MiB, and
/// larger blocks have barriers, after which run_block orders them anyway.
int fibers_of_sanitizer(int threads) {
  constexpr int most_of_two_blocks = 512;
  return std::max(threads, std::min(2 * threads, most_of_two_blocks));
}

/// Calls f(i) for every block of a grid, in the order of the seed.
template <class F>
void in_order(std::uint64_t count, Random& random, const F& f) {
  if (order() == Order::drawn) {
    std::uint64_t step = 1 + random.below(count);
    while (std::gcd(step, count) != 1) ++step;
    std::uint64_t i = random.below(count);
    for (std::uint64_t done = 0; done < count; ++done, i = (i + step) % count) f(i);
    return;
  }
  const bool backward = order() == Order::last_to_first;
  for (std::uint64_t i = 0; i < count; ++i) f(backward ? count - 1 - i : i);
}

}  // namespace

void Turns::begin(Order order, int threads, Random& random) {
  words_ = {};
  const bool same_as_before = threads == threads_ && order != Order::drawn;
  if (same_as_before) return;
  threads_ = threads;
  std::iota(at_.begin(), at_.begin() + threads, 0);
  if (order == Order::last_to_first) std::reverse(at_.begin(), at_.begin() + threads);
  if (order == Order::drawn) {
    const auto shuffle = [&](int begin, int count, int unit) {
      for (int i = count - 1; i > 0; --i) {
        const int other = static_cast<int>(random.below(static_cast<std::uint64_t>(i) + 1));
        for (int k = 0; k < unit; ++k) {
          std::swap(at_[begin + i * unit + k], at_[begin + other * unit + k]);
        }
      }
    };
    if (threads % kWarp == 0 && random.below(2) == 0) {
      shuffle(0, threads / kWarp, kWarp);
      for (int warp = 0; warp < threads / kWarp; ++warp) shuffle(warp * kWarp, kWarp, 1);
    } else {
      shuffle(0, threads, 1);
    }
  }
  for (int rank = 0; rank < threads; ++rank) rank_[at_[rank]] = rank;
}

int Turns::best() const {
  const int words = (threads_ + 63) / 64;
  for (int word = 0; word < words; ++word) {
    if (words_[word] != 0) return at_[word * 64 + std::countr_zero(words_[word])];
  }
  return -1;
}

void Turns::demote(int thread, Random& random) {
  const int other = at_[random.below(static_cast<std::uint64_t>(threads_))];
  const bool one = (words_[word(thread)] & bit(thread)) != 0;
  const bool two = (words_[word(other)] & bit(other)) != 0;
  cannot_run(thread);
  cannot_run(other);
  std::swap(rank_[thread], rank_[other]);
  at_[rank_[thread]] = thread;
  at_[rank_[other]] = other;
  if (one) can_run(thread);
  if (two) can_run(other);
}

Engine& engine() {
  thread_local Engine one;
  return one;
}

Engine::Engine() : fibers_(&Engine::entry) { poison_shared_memory(); }

void Engine::entry() { engine().run_threads(); }

void Engine::run(dim3 grid, dim3 block, const std::function<void()>& thread, std::uint64_t draw) {
  thread_ = &thread;
  random_ = Random(draw);
  fault_.clear();
  gridDim = grid;
  blockDim = block;
  count_ = static_cast<int>(block.x * block.y * block.z);
  index_.clear();
  for (unsigned z = 0; z < block.z; ++z) {
    for (unsigned y = 0; y < block.y; ++y) {
      for (unsigned x = 0; x < block.x; ++x) index_.push_back({x, y, z});
    }
  }
  warps_.resize(static_cast<std::size_t>((count_ + kWarp - 1) / kWarp));
  while (kFiberPerThread && fibers_.count() < fibers_of_sanitizer(count_)) add_fiber();
  sanitizer_release(&launch_tag_);
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  in_order(blocks, random_, [&](std::uint64_t i) {
    if (!fault_.empty()) return;
    blockIdx = {static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
                static_cast<unsigned>(i / grid.x / grid.y)};
    run_block();
  });
  sanitizer_acquire(&end_tag_);
  thread_ = nullptr;
  if (fault_.empty()) return;
  fibers_.start_anew();
  first_free_ = free_count_ = 0;
  for (int fiber = 0; fiber < fibers_.count(); ++fiber) give_back(fiber);
  throw Refusal(cudaErrorLaunchFailure, fault_);
}

void Engine::run_block() {
  threads_.assign(static_cast<std::size_t>(count_), {});
  turns_.begin(order(), count_, random_);
  for (int thread = 0; thread < count_; ++thread) turns_.can_run(thread);
  for (std::size_t warp = 0; warp < warps_.size(); ++warp) {
    const int lanes = std::min(kWarp, count_ - static_cast<int>(warp) * kWarp);
    warps_[warp].live = lanes == kWarp ? ~0u : (1u << lanes) - 1;
    warps_[warp].waiting = 0;
  }
  live_ = count_;
  at_barrier_ = 0;
  const std::uint64_t barriers_before = barriers_;
  running_ = turns_.best();
  threadIdx = index_[running_];
  threads_[running_].fiber = take_fiber();
  switch_fiber(fibers_.own(), fibers_.at(threads_[running_].fiber));
  if (barriers_ == barriers_before) return;
  // What they share lies where the last block's lay. So the thread sanitizer takes the blocks of a
  // kernel with barriers as one after the other.
  sanitizer_acquire(&end_tag_);
  poison_shared_memory();
  sanitizer_release(&launch_tag_);
}

/// The one that was free longest: for the thread sanitizer, blocks that follow each other should
/// not be ordered by the fibers that they had.
int Engine::take_fiber() {
  if (free_count_ == 0) add_fiber();
  const int fiber = free_[first_free_];
  first_free_ = (first_free_ + 1) % free_.size();
  --free_count_;
  return fiber;
}

void Engine::give_back(int fiber) {
  free_[(first_free_ + free_count_) % free_.size()] = fiber;
  ++free_count_;
}

void Engine::add_fiber() {
  std::rotate(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(first_free_), free_.end());
  first_free_ = 0;
  const int fiber = fibers_.add();
  free_.push_back(-1);
  give_back(fiber);
}

/// On a fiber: runs the thread whose turn it is, and then the next.
void Engine::run_threads() {
  for (;;) {
    sanitizer_acquire(&launch_tag_);
    (*thread_)();
    sanitizer_release(&end_tag_);
    end_thread();
    const int fiber = threads_[running_].fiber;
    const int next = turns_.best();
    if (!kFiberPerThread && next >= 0 && threads_[next].fiber < 0) {
      running_ = next;
      threadIdx = index_[next];
      threads_[next].fiber = fiber;
      continue;
    }
    give_back(fiber);
    if (next < 0) {
      if (live_ > 0) fault_ = deadlock();
      switch_fiber(fibers_.at(fiber), fibers_.own());
      continue;
    }
    if (threads_[next].fiber < 0) threads_[next].fiber = take_fiber();
    running_ = next;
    threadIdx = index_[next];
    switch_fiber(fibers_.at(fiber), fibers_.at(threads_[next].fiber));
  }
}

void Engine::end_thread() {
  threads_[running_].ended = true;
  turns_.cannot_run(running_);
  --live_;
  // Those that have ended are no longer waited for, as on a device.
  if (at_barrier_ > 0 && at_barrier_ == live_) open_barrier();
  Warp& warp = warps_[running_ / kWarp];
  warp.live &= ~(1u << (running_ % kWarp));
  deliver_if_all(warp, running_ / kWarp * kWarp);
}

/// Goes on with the best thread, which may be the calling one.
void Engine::choose() {
  if (order() == Order::drawn && random_.below(64) == 0) turns_.demote(running_, random_);
  const int next = turns_.best();
  if (next < 0) fault(deadlock());
  if (next != running_) switch_to(next);
}

void Engine::switch_to(int thread) {
  Fiber& from = fibers_.at(threads_[running_].fiber);
  if (threads_[thread].fiber < 0) threads_[thread].fiber = take_fiber();
  running_ = thread;
  threadIdx = index_[thread];
  switch_fiber(from, fibers_.at(threads_[thread].fiber));
}

/// Leaves all threads of the block where they are.
void Engine::fault(std::string why) {
  fault_ = std::move(why);
  switch_fiber(fibers_.at(threads_[running_].fiber), fibers_.own());
  __builtin_unreachable();
}

void Engine::refuse(const std::string& does) {
  if (thread_ == nullptr) return;
  fault("block " + std::to_string(blockIdx.x) + ": thread " + std::to_string(running_) + " " +
        does);
}

std::string Engine::place_of(int thread) const {
  const Call& call = threads_[thread].call;
  return std::string(call.name) + " (" + text_of(call.line) + ")";
}

/// "block 3: threads 0 to 31 wait for ever in __syncthreads (a.cu:3), threads 32 to 63 have ended"
std::string Engine::deadlock() const {
  std::string text = "block " + std::to_string(blockIdx.x) + ":";
  for (int begin = 0; begin < count_;) {
    int end = begin + 1;
    const auto alike = [&](int a, int b) {
      if (threads_[a].ended || threads_[b].ended) return threads_[a].ended == threads_[b].ended;
      return same(threads_[a].call.line, threads_[b].call.line);
    };
    while (end < count_ && alike(begin, end)) ++end;
    text += (begin == 0 ? " threads " : ", threads ") + std::to_string(begin) + " to " +
            std::to_string(end - 1);
    text += threads_[begin].ended ? " have ended" : " wait for ever in " + place_of(begin);
    begin = end;
  }
  return text;
}

void Engine::sync_threads(Line line) {
  Thread& self = threads_[running_];
  self.call = {.name = "__syncthreads", .line = line};
  if (at_barrier_ > 0 && !same(threads_[first_at_barrier_].call.line, line)) {
    fault("block " + std::to_string(blockIdx.x) + ": thread " + std::to_string(running_) +
          " comes to " + place_of(running_) + ", thread " + std::to_string(first_at_barrier_) +
          " waits in " + place_of(first_at_barrier_));
  }
  if (at_barrier_++ == 0) first_at_barrier_ = running_;
  turns_.cannot_run(running_);
  char& tag = barrier_tags_[barriers_ % 2];
  sanitizer_release(&tag);
  if (at_barrier_ == live_) open_barrier();
  choose();
  sanitizer_acquire(&tag);
}

void Engine::open_barrier() {
  at_barrier_ = 0;
  ++barriers_;
  for (int thread = 0; thread < count_; ++thread) {
    Call& call = threads_[thread].call;
    if (threads_[thread].ended || call.name == nullptr) continue;
    call.name = nullptr;
    turns_.can_run(thread);
  }
}

void Engine::sync_warp(unsigned mask, Line line) {
  Warp& warp = warps_[running_ / kWarp];
  const int lowest = mask == 0 ? 0 : std::countr_zero(mask);
  char& tag = warp.tags[lowest][warp.syncs[lowest] % 2];
  sanitizer_release(&tag);
  Call call{.name = "__syncwarp", .line = line, .mask = mask, .kind = Exchange::all};
  call.value = 1;
  meet(call);
  sanitizer_acquire(&tag);
}

std::uint64_t Engine::exchange(Exchange kind, unsigned mask, std::uint64_t value, int parameter,
                               int width, Line line) {
  meet({name_of(kind), line, mask, kind, value, parameter, width});
  return threads_[running_].result;
}

/// Waits until all lanes of the mask have made the same call.
void Engine::meet(const Call& call) {
  const int lane = running_ % kWarp, first_thread = running_ - lane;
  const unsigned own = 1u << lane;
  Warp& warp = warps_[running_ / kWarp];
  threads_[running_].call = call;
  const auto who = [&] {
    return "block " + std::to_string(blockIdx.x) + ": thread " + std::to_string(running_) +
           " comes to " + place_of(running_) + " with mask " + hex(call.mask);
  };
  if ((call.mask & own) == 0) fault(who() + ", which does not name it");
  Group* group = nullptr;
  for (int i = 0; i < warp.waiting; ++i) {
    Group& other = warp.groups[i];
    if ((other.mask & call.mask) == 0) continue;
    const int before = first_thread + other.first;
    const Call& met = threads_[before].call;
    if (other.mask != call.mask || met.name != call.name || !same(met.line, call.line)) {
      fault(who() + ", thread " + std::to_string(before) + " waits in " + place_of(before) +
            " with mask " + hex(other.mask));
    }
    group = &other;
  }
  if (group == nullptr) {
    group = &warp.groups[warp.waiting++];
    *group = {call.mask, 0, lane};
  }
  group->arrived |= own;
  turns_.cannot_run(running_);
  deliver_if_all(warp, first_thread);
  choose();
}

void Engine::deliver_if_all(Warp& warp, int first_thread) {
  for (int i = 0; i < warp.waiting;) {
    const Group group = warp.groups[i];
    if ((group.mask & warp.live) != group.arrived) {
      ++i;
      continue;
    }
    warp.groups[i] = warp.groups[--warp.waiting];
    ++warp.syncs[std::countr_zero(group.mask)];
    deliver(group, first_thread);
  }
}

void Engine::deliver(const Group& group, int first_thread) {
  const Exchange kind = threads_[first_thread + group.first].call.kind;
  const bool voting = kind == Exchange::ballot || kind == Exchange::all || kind == Exchange::any;
  unsigned votes = 0;
  for (unsigned left = voting ? group.arrived : 0; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (threads_[first_thread + lane].call.value != 0) votes |= 1u << lane;
  }
  for (unsigned left = group.arrived; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    threads_[first_thread + lane].result = result_of(group, first_thread, lane, votes);
  }
  for (unsigned left = group.arrived; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    threads_[first_thread + lane].call.name = nullptr;
    turns_.can_run(first_thread + lane);
  }
}

std::uint64_t Engine::result_of(const Group& group, int first_thread, int lane, unsigned votes) {
  const Call& call = threads_[first_thread + lane].call;
  switch (call.kind) {
    case Exchange::ballot:
      return votes;
    case Exchange::all:
      return votes == group.arrived ? 1 : 0;
    case Exchange::any:
      return votes != 0 ? 1 : 0;
    case Exchange::shuffle:
    case Exchange::shuffle_up:
    case Exchange::shuffle_down:
    case Exchange::shuffle_xor:
      break;
  }
  const int from = source_of(call.kind, lane, call.parameter, call.width);
  if ((group.arrived >> from & 1) != 0) return threads_[first_thread + from].call.value;
  const int reader = first_thread + lane;
  fault("block " + std::to_string(blockIdx.x) + ": thread " + std::to_string(reader) +
        " reads in " + place_of(reader) + " from lane " + std::to_string(from) + ", which " +
        ((call.mask >> from & 1) != 0 ? "has ended"
                                      : "its mask " + hex(call.mask) + " does not name"));
}

void sync_threads(Line line) { engine().sync_threads(line); }
void sync_warp(unsigned mask, Line line) { engine().sync_warp(mask, line); }
std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, int parameter, int width,
                       Line line) {
  return engine().exchange(kind, mask, value, parameter, width, line);
}

}  // namespace moelab::cuda_emulation
