#include "moe/communicator/one_gpu/pacer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "moe/backend/cuda_wait.cuh"
#include "moe/threads.h"

namespace moe::one_gpu {
namespace {

/// What shares a link takes turns of so long.
constexpr double kTurn_s = 20e-6;
/// A message leaves at most so long before its time, which hides how late this thread wakes.
constexpr double kAhead_s = 100e-6;
constexpr std::int64_t kLeastTurnBytes = 4096;
constexpr int kCoresToSpare = 4;
/// A cache line for each word: the device writes one, the host the other.
constexpr std::size_t kWordBytes = 64, kGatesOfBlock = 256;

std::uint32_t look(std::uint32_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

void tell(std::uint32_t* word, std::uint32_t number) {
  std::atomic_ref(*word).store(number, std::memory_order_release);
}

/// Numbers are counted round.
bool has_come_to(std::uint32_t value, std::uint32_t number) {
  return static_cast<std::int32_t>(value - number) >= 0;
}

}  // namespace

Pacer::Pacer(GpuCluster cluster)
    : cluster_(std::move(cluster)),
      cards_(2 * cluster_.node_of.size()),
      inner_(2 * cluster_.node_of.size()) {
  if (cluster_.nic_bytes_per_s == 0 && cluster_.intra_bytes_per_s == 0) return;
  words_.emplace();
  thread_ = start_thread("the links of a cluster in one GPU", [this] { run(); });
}

Pacer::~Pacer() {
  // Freeing waits for the device, whose work may not end where something has failed.
  if (std::uncaught_exceptions() > 0) {
    for (PinnedMemory& block : blocks_) block.leak();
  }
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const auto& [begun, transfers] : transfers_) {
    tell(transfers.back().carried, transfers.back().number);
  }
}

Pacer::Gate Pacer::make_gate() {
  if (!words_) return {};
  const std::lock_guard lock(mutex_);
  if (free_gates_.empty()) {
    constexpr std::size_t bytes = 2 * kWordBytes * kGatesOfBlock;
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    blocks_.emplace_back(memory);
    std::memset(memory, 0, bytes);
    for (std::size_t gate = 0; gate < kGatesOfBlock; ++gate) {
      auto* const words = static_cast<std::byte*>(memory) + 2 * kWordBytes * gate;
      free_gates_.push_back({reinterpret_cast<std::uint32_t*>(words),
                             reinterpret_cast<std::uint32_t*>(words + kWordBytes)});
    }
  }
  const Gate gate = free_gates_.back();
  free_gates_.pop_back();
  return gate;
}

void Pacer::give_back(const Gate& gate) {
  if (gate.begun == nullptr) return;
  const std::lock_guard lock(mutex_);
  free_gates_.push_back(gate);
}

std::optional<PacedRoute> Pacer::route(int from, int to) {
  const auto node = [&](int rank) {
    return static_cast<std::size_t>(cluster_.node_of.at(static_cast<std::size_t>(rank)));
  };
  const bool between_nodes = node(from) != node(to);
  const double rate = between_nodes ? cluster_.nic_bytes_per_s : cluster_.intra_bytes_per_s;
  if (rate == 0 || from == to) return std::nullopt;
  if (between_nodes) return PacedRoute{&cards_[2 * node(from)], &cards_[2 * node(to) + 1], rate};
  return PacedRoute{&inner_[2 * static_cast<std::size_t>(from)],
                    &inner_[2 * static_cast<std::size_t>(to) + 1], rate};
}

bool Pacer::depart(Gate& gate, cudaStream_t stream, std::span<const Message> messages) {
  if (!words_) return false;
  Transfer transfer{gate.carried, gate.transfers + 1};
  for (const Message& message : messages) {
    const auto route = this->route(message.from, message.to);
    if (route && message.bytes > 0) transfer.messages.push_back({*route, message.bytes});
  }
  if (transfer.messages.empty()) return false;
  words_->write(stream, gate.begun, ++gate.transfers);
  {
    const std::lock_guard lock(mutex_);
    transfers_[gate.begun].push_back(std::move(transfer));
  }
  changed_.notify_all();
  return true;
}

void Pacer::hold(const Gate& gate, cudaStream_t stream) {
  words_->wait(stream, gate.carried, gate.transfers);
}

bool Pacer::advance(std::uint32_t* begun, Transfer& transfer, double now_s) {
  if (!transfer.has_begun) {
    if (!has_come_to(look(begun), transfer.number)) return false;
    transfer.has_begun = true;
  }
  bool all_left = true;
  for (UnderWay& message : transfer.messages) {
    while (message.bytes > 0 && message.left_s <= now_s + kAhead_s) {
      const auto turn = static_cast<std::int64_t>(message.route.bytes_per_s * kTurn_s);
      const std::int64_t bytes = std::min(message.bytes, std::max(turn, kLeastTurnBytes));
      const double leaves_s = message.route.leave(bytes, now_s);
      message.bytes -= bytes;
      message.left_s = leaves_s + message.route.duration_s(bytes);
      transfer.arrival_s = std::max(transfer.arrival_s, message.route.arrive(bytes, leaves_s));
    }
    all_left = all_left && message.bytes == 0;
  }
  return all_left && transfer.arrival_s <= now_s;
}

void Pacer::run() {
  use_core(CoreUse::waits);
  std::unique_lock lock(mutex_);
  while (!stops_) {
    if (transfers_.empty()) {
      changed_.wait(lock, [&] { return stops_ || !transfers_.empty(); });
      continue;
    }
    for (auto& [begun, transfers] : transfers_) {
      if (!advance(begun, transfers.front(), steady_clock_s())) continue;
      tell(transfers.front().carried, transfers.front().number);
      transfers.pop_front();
    }
    std::erase_if(transfers_, [](const auto& of_stream) { return of_stream.second.empty(); });
    lock.unlock();
    // Streams wait for this thread, so it looks without a pause where cores are to spare.
    if (usable_cores() >= kCoresToSpare) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    lock.lock();
  }
}

}  // namespace moe::one_gpu
