#include "tests/cuda_emulation/report.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tests/cuda_emulation/settings.h"

namespace moelab::cuda_emulation {
namespace {

struct Amount {
  std::atomic<std::int64_t> now = 0, most = 0;
  void add(std::int64_t bytes) {
    const std::int64_t sum = now += bytes;
    std::int64_t seen = most;
    while (sum > seen && !most.compare_exchange_weak(seen, sum)) {
    }
  }
};

struct Asked {
  std::array<Amount, 2> memory;                                      ///< by kind
  std::array<std::array<std::atomic<std::int64_t>, 2>, 2> copied{};  ///< [to][from]
};

std::size_t index_of(MemoryKind kind) { return static_cast<std::size_t>(kind); }

Asked& asked();

void write_report() {
  constexpr std::size_t device = 0, pinned = 1;
  const Asked& all = asked();
  const auto text = [](const std::atomic<std::int64_t>& bytes) {
    return static_cast<long long>(bytes.load());
  };
  std::fprintf(stderr, "emulated: pinned %lld device %lld up %lld down %lld across %lld\n",
               text(all.memory[pinned].most), text(all.memory[device].most),
               text(all.copied[device][pinned]), text(all.copied[pinned][device]),
               text(all.copied[device][device]));
}

Asked& asked() {
  static Asked& all = *[] {
    if (settings().report) std::atexit(write_report);
    return new Asked;  // outlives the threads of streams
  }();
  return all;
}

}  // namespace

void count_memory(MemoryKind kind, std::int64_t bytes) {
  asked().memory[index_of(kind)].add(bytes);
}

void count_copy(MemoryKind to, MemoryKind from, std::int64_t bytes) {
  asked().copied[index_of(to)][index_of(from)] += bytes;
}

}  // namespace moelab::cuda_emulation
