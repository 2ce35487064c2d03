#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "db/console/format_rows.h"
#include "moe/backend/backend.h"
#include "moe/backend/cpu_gemm.h"
#include "moe/backend/thread_choice.h"
#include "moe/backend/thread_pool.h"
#include "moe/errors.h"
#include "moe/kernels/execute.h"
#include "moe/kernels/fill.h"
#include "moe/kernels/pattern.h"
#include "moe/kernels/serial_team.h"
#include "moe/stop.h"

namespace moe {
namespace {

/// The fewest elements that a thread gets. With fewer, threads share lines of a cache.
constexpr std::int64_t kLeastElements = 256;
/// A matrix product of so many FLOPs takes milliseconds, so it always gets all threads.
constexpr std::int64_t kLargeProductFlops = 256'000'000;
/// How long threads that wait awake stay awake for the next loop: as long as most ops of a small
/// model take. With 1 ms a training beside another process took six times as long as with one
/// thread (experiments/threads).
constexpr std::chrono::microseconds kAwake(200);

/// Kernels on the threads of one rank. Every result has one owner, so the order of a sum does not
/// depend on the number of threads.
class CpuExec {
 public:
  static constexpr AttentionTile kAttentionTile = kCpuAttentionTile;

  /// Loops run on one thread.
  CpuExec() = default;
  /// Loops run on `threads` threads of a pool that has `most`.
  CpuExec(ThreadPool& pool, int threads, int most, double copy_bytes_per_s)
      : pool_(&pool), threads_(threads), most_(most), copy_bytes_per_s_(copy_bytes_per_s) {}

  template <class F>
  void rows(std::int64_t count, std::int64_t width, F f) {
    const std::int64_t least = (kLeastElements + width - 1) / std::max<std::int64_t>(width, 1);
    share(count, least, [&](std::int64_t begin, std::int64_t end) {
      SerialTeam team;
      for (std::int64_t row = begin; row < end; ++row) f(team, row);
    });
  }

  template <class F>
  void elements(std::int64_t count, F f) {
    share(count, kLeastElements, [&](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) f(i);
    });
  }

  template <class Out, class F, class... In>
  void map(std::int64_t count, Out* out, F f, const In*... in) {
    share(count, kLeastElements, [=](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) out[i] = f(in[i]...);
    });
  }

  template <class Out, class F, class... In>
  void map_two(std::int64_t count, Out* first, Out* second, F f, const In*... in) {
    share(count, kLeastElements, [=](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const auto both = f(in[i]...);
        first[i] = both.first;
        second[i] = both.second;
      }
    });
  }

  /// Goes down the rows with a strip of sums in the first-level cache.
  template <class F, class Real, int count, class... In>
  void column_sums(std::int64_t rows, std::int64_t width, F f, SumTargets<Real, count> targets,
                   const In*... in) {
    constexpr std::int64_t kStrip = 1024, kLine = 16;
    const std::int64_t of_thread = (width / threads_ + kLine - 1) / kLine * kLine;
    const std::int64_t strip_width = std::clamp(of_thread, kLine, kStrip);
    share((width + strip_width - 1) / strip_width, 1, [&](std::int64_t begin, std::int64_t end) {
      Real sums[count][kStrip];
      for (std::int64_t strip = begin; strip < end; ++strip) {
        const std::int64_t first = strip * strip_width;
        const std::int64_t size = std::min(strip_width, width - first);
        for (auto& sum : sums) std::fill_n(sum, size, Real(0));
        for (std::int64_t row = 0; row < rows; ++row) {
#pragma GCC ivdep
          for (std::int64_t c = 0; c < size; ++c) {
            const Sums<Real, count> term =
                term_of(f, row, first + c, in[row * width + first + c]...);
            for (int which = 0; which < count; ++which) sums[which][c] += term.value[which];
          }
        }
        for (int which = 0; which < count; ++which) {
          for (std::int64_t c = 0; c < size; ++c) targets.store(which, first + c, sums[which][c]);
        }
      }
    });
  }

  template <class Stored>
  void column_sums_of_groups(const Stored* in, std::span<const RowRange> groups, std::int64_t width,
                             Wide<Stored>* out, bool accumulate) {
    for (const RowRange& group : groups) {
      column_sums(group.rows, width, ElementTerm<Stored>{},
                  SumTargets<Wide<Stored>, 1>{{out}, accumulate}, in + group.begin * width);
      out += width;
    }
  }

  /// Threads share the rows of C, and each calls oneDNN for its own: so the order of sums does not
  /// depend on how many there are. Where it would, small products get one thread, for how many
  /// threads an op gets depends on measured times.
  template <class In, class Out>
  void gemm(const Gemm<In, Out>& gemm) {
    const bool large = 2 * gemm.m * gemm.n * gemm.k >= kLargeProductFlops;
    const int threads = large ? most_ : rows_are_alike() ? threads_ : 1;
    cpu_gemm(gemm, [&](std::int64_t count, std::int64_t least, const PartOfLoop& part) {
      share(threads, count, least, part);
    });
  }

  template <class In, class Out>
  void gemms(std::span<const Gemm<In, Out>> gemms) {
    for (const Gemm<In, Out>& one : gemms) gemm(one);
  }

  template <class F>
  void batches(std::int64_t count, F f) {
    share(count, 1, [&](std::int64_t begin, std::int64_t end) {
      CpuExec single;
      for (std::int64_t i = begin; i < end; ++i) f(single, i, std::int64_t{1});
    });
  }

  /// Copies at the rate of memory, then sleeps until a slower link would have carried it, unless
  /// the process was asked to end.
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    if (!(copy_bytes_per_s_ > 0)) return;
    const std::chrono::duration<double> least(static_cast<double>(bytes) / copy_bytes_per_s_);
    constexpr std::chrono::duration<double> kLongestSleep(0.1);
    while (stop_signal() == 0) {
      const auto left = start + least - std::chrono::steady_clock::now();
      if (left.count() <= 0) return;
      std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(left, kLongestSleep));
    }
  }

  /// False where a loop ran on one thread because another op used the others.
  bool had_threads() const { return had_threads_; }

 private:
  template <class F>
  void share(std::int64_t count, std::int64_t least, const F& f) {
    share(threads_, count, least, f);
  }
  /// Calls f(begin, end) for equal shares of [0, count), at least `least`, each on a thread.
  template <class F>
  void share(int threads, std::int64_t count, std::int64_t least, const F& f) {
    const std::int64_t parts = std::min<std::int64_t>(threads, count / least);
    if (parts < 2) {
      f(0, count);
      return;
    }
    const bool on_threads = pool_->run(static_cast<int>(parts), [&](int part) {
      f(count * part / parts, count * (part + 1) / parts);
    });
    if (!on_threads) had_threads_ = false;
  }

  ThreadPool* pool_ = nullptr;
  int threads_ = 1, most_ = 1;
  double copy_bytes_per_s_ = 0;
  bool had_threads_ = true;
};

/// Address space that grows and keeps its contents. Pages are taken at their first use.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }

  std::byte* at_least(std::int64_t bytes) {
    if (static_cast<std::size_t>(bytes) <= bytes_) return static_cast<std::byte*>(base_);
    const std::size_t page = 2 << 20;
    const std::size_t rounded = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
    void* grown = base_ == nullptr ? mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                   : mremap(base_, bytes_, rounded, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) {
      const std::int64_t free = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
      throw OutOfMemory("arena: " + db::format_cell("bytes", bytes) +
                            " of address space asked for, " + db::format_cell("bytes", free) +
                            " of memory are free: lower --memory-limit or global_batch, or use "
                            "more ranks",
                        bytes);
    }
    base_ = grown;
    bytes_ = rounded;
    // Asks for few large pages instead of many small ones; the system may ignore it.
    madvise(base_, bytes_, MADV_HUGEPAGE);
    return static_cast<std::byte*>(base_);
  }

 private:
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

class CpuBackend : public Backend {
 public:
  CpuBackend(int threads, Waiting waiting, double copy_bytes_per_s)
      : threads_(at_least_one(threads)),
        waiting_(waiting),
        copy_bytes_per_s_(copy_bytes_per_s),
        pool_(threads, waiting == Waiting::awake ? kAwake : std::chrono::microseconds(0)) {}

  std::string name() const override {
    if (threads_ == 1) return "CPU, 1 thread";
    return "CPU, " + std::to_string(threads_) + " threads, waiting " +
           (waiting_ == Waiting::awake ? "awake" : "asleep");
  }

  std::byte* arena(std::int64_t bytes) override { return arena_.at_least(bytes); }
  std::byte* host_block(std::int64_t bytes) override {
    return host_blocks_.emplace_back().at_least(bytes);
  }
  void free_host_blocks() override { host_blocks_.clear(); }

  void post(std::byte* device, std::span<const std::byte> host, Stream) override {
    std::copy(host.begin(), host.end(), device);
  }
  void download_all(std::span<const HostCopy> copies, Stream) override {
    for (const HostCopy& copy : copies) {
      std::copy_n(copy.device, copy.host.size(), copy.host.data());
    }
  }

  void fill(const View& tensor, const InitialValues& values) override {
    CpuExec exec = executor(threads_);
    fill_any(exec, tensor, values);
  }

  void lay_pattern(std::byte* arena, std::int64_t begin, std::int64_t end) override {
    CpuExec exec = executor(threads_);
    lay_pattern_by(exec, arena, begin, end);
  }
  std::int64_t end_of_pattern(const std::byte* arena, std::int64_t begin,
                              std::int64_t end) override {
    CpuExec exec = executor(threads_);
    std::vector<int> ends(static_cast<std::size_t>(pattern_chunks(end - begin)));
    find_pattern_ends(exec, arena, begin, end, ends.data());
    return pattern_end(begin, ends);
  }

  void execute_together(std::span<const BoundOp* const> ops) override {
    for (const BoundOp* op : ops) execute_one(*op);
  }

  /// All work has finished when its call returns, so a mark is a time that has passed.
  Mark record(Stream, bool) override {
    const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
    const std::lock_guard lock(mutex_);
    marks_.push_back(now.count());
    return static_cast<Mark>(marks_.size()) - 1;
  }
  void wait(Stream, Mark) override {}
  double time_of(Mark mark) override {
    const std::lock_guard lock(mutex_);
    return marks_.at(static_cast<std::size_t>(mark));
  }
  void forget_marks() override {
    const std::lock_guard lock(mutex_);
    marks_.clear();
  }

 private:
  static int at_least_one(int threads) {
    if (threads >= 1) return threads;
    throw std::invalid_argument("CPU backend: " + std::to_string(threads) + " threads");
  }

  CpuExec executor(int threads) { return {pool_, threads, threads_, copy_bytes_per_s_}; }

  void execute_one(const BoundOp& op) {
    if (threads_ == 1) {
      execute_on(1, op);
      return;
    }
    const OpSize size = size_of(op);
    const bool all = choice_.takes_all(size);
    const auto start = std::chrono::steady_clock::now();
    if (!execute_on(all ? threads_ : 1, op)) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    choice_.measured(size, all, took.count());
  }

  /// Returns whether the op had the threads that it asked for.
  bool execute_on(int threads, const BoundOp& op) {
    CpuExec exec = executor(threads);
    execute_op(exec, op);
    return exec.had_threads();
  }

  int threads_;
  Waiting waiting_;
  double copy_bytes_per_s_;
  ThreadPool pool_;
  ThreadChoice choice_;
  Arena arena_;
  std::deque<Arena> host_blocks_;
  std::mutex mutex_;
  std::vector<double> marks_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads, Waiting waiting, double copy_bytes_per_s) {
  return std::make_unique<CpuBackend>(threads, waiting, copy_bytes_per_s);
}

}  // namespace moe
