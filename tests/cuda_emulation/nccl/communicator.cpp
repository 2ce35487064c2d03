#include "tests/cuda_emulation/nccl/communicator.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "tests/cuda_emulation/nccl/faults.h"

namespace emulation = moelab::cuda_emulation::nccl;

namespace moelab::cuda_emulation::nccl {
namespace {

struct Orders {
  std::mutex mutex;
  std::map<int, LaunchOrder> of_device;
};
Orders& orders() {
  static Orders all;
  return all;
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// Tells two devices of a process, and two processes, apart. Never 0.
std::uint64_t identity_of(const ProcessId& process, int device) {
  const std::uint64_t number =
      mix(static_cast<std::uint64_t>(process.number) << 16 | static_cast<std::uint64_t>(device));
  return mix(number + static_cast<std::uint64_t>(process.start)) | 1;
}

std::string name_of(const ncclComm& comm, int other) {
  const std::int32_t process = comm.peer(other).process.number;
  const std::string rank = "rank " + std::to_string(other);
  return process == 0 ? rank : rank + " (process " + std::to_string(process) + ")";
}

}  // namespace

LaunchOrder& launch_order(int device) {
  Orders& all = orders();
  const std::lock_guard lock(all.mutex);
  return all.of_device[device];
}

bool is_communicator(const ncclComm* comm) {
  Orders& all = orders();
  const std::lock_guard lock(all.mutex);
  for (auto& [device, order] : all.of_device) {
    const std::lock_guard order_lock(order.mutex);
    if (std::ranges::find(order.members, comm) != order.members.end()) return true;
  }
  return false;
}

std::string why_gone(const ncclComm& comm, int other) {
  const RankState& state = comm.peer(other);
  switch (state.stage) {
    case Stage::absent:
      return "";
    case Stage::aborted:
      return name_of(comm, other) + " has aborted the communicator";
    case Stage::finalizing:
      return name_of(comm, other) + " has ended the communicator";
    case Stage::here:
      break;
  }
  const bool other_process = !(state.process == comm.self().process);
  return other_process && !is_alive(state.process) ? name_of(comm, other) + " has died" : "";
}

ncclResult_t meet(ncclComm& comm) {
  if (const ncclResult_t code = comm.failure(); code != ncclSuccess) return code;
  bool all_here = comm.self().stage != Stage::absent;
  if (!all_here) return ncclInProgress;  // a fault keeps this rank away
  for (int other = 0; other < comm.size; ++other) {
    const RankState& state = comm.peer(other);
    if (state.stage == Stage::absent) {
      all_here = false;
      continue;
    }
    // One that ends already has come.
    const std::string why = state.stage == Stage::finalizing ? "" : why_gone(comm, other);
    if (!why.empty() && state.stage != Stage::finalizing) {
      return comm.fail_all(ncclRemoteError, why + " before all its ranks had come");
    }
    if (other != comm.rank && state.device_uuid == comm.self().device_uuid) {
      return comm.fail_all(ncclInvalidUsage,
                           "ranks " + std::to_string(std::min(comm.rank, other)) + " and " +
                               std::to_string(std::max(comm.rank, other)) + " share a device");
    }
  }
  if (!all_here) return ncclInProgress;
  Segment::release(comm.place);
  return ncclSuccess;
}

std::int64_t begin_split(ncclComm& comm, int color, int key) {
  const std::int64_t number = comm.splits++;
  RankState::Split& own = comm.self().split[static_cast<std::size_t>(number % 2)];
  own.color = color;
  own.key = key;
  comm.self().splits = number + 1;
  return number;
}

ncclResult_t advance_split(ncclComm& comm, std::int64_t number, ncclComm_t* made) {
  if (const ncclResult_t code = comm.failure(); code != ncclSuccess) return code;
  const auto turn = static_cast<std::size_t>(number % 2);
  const std::int32_t color = comm.self().split[turn].color;
  std::vector<std::pair<std::int32_t, int>> members;  // key, rank
  for (int other = 0; other < comm.size; ++other) {
    const RankState& state = comm.peer(other);
    if (state.splits <= number) {
      const std::string why = why_gone(comm, other);
      if (why.empty() || state.splits > number) return ncclInProgress;
      return comm.fail_all(ncclRemoteError,
                           "ncclCommSplit of rank " + std::to_string(comm.rank) + ": " + why);
    }
    if (state.split[turn].color == color) members.emplace_back(state.split[turn].key, other);
  }
  std::ranges::sort(members);
  RankState::Split& first = comm.peer(members.front().second).split[turn];
  if (members.front().second == comm.rank && first.placed != number + 1) {
    first.place = Segment::make();
    first.placed = number + 1;
  }
  if (first.placed != number + 1) return ncclInProgress;
  const auto self = std::ranges::find(members, comm.rank, &std::pair<std::int32_t, int>::second);
  *made = new ncclComm(first.place, static_cast<int>(self - members.begin()),
                       static_cast<int>(members.size()), comm.device, comm.blocking);
  return ncclSuccess;
}

ncclResult_t advance_end(ncclComm& comm) {
  if (const ncclResult_t code = comm.failure(); code != ncclSuccess) return code;
  if (comm.ended != comm.launched) return ncclInProgress;
  comm.self().stage = Stage::finalizing;
  for (int other = 0; other < comm.size; ++other) {
    if (comm.peer(other).stage == Stage::finalizing) continue;
    const std::string why = why_gone(comm, other);
    if (comm.peer(other).stage == Stage::finalizing) continue;
    if (why.empty()) return ncclInProgress;
    return comm.fail_all(ncclRemoteError,
                         "ncclCommFinalize of rank " + std::to_string(comm.rank) + ": " + why);
  }
  comm.finalized = true;
  return ncclSuccess;
}

}  // namespace moelab::cuda_emulation::nccl

ncclComm::ncclComm(const emulation::SegmentPlace& where, int own_rank, int ranks, int own_device,
                   bool waits)
    : rank(own_rank),
      size(ranks),
      device(own_device),
      blocking(waits),
      place(where),
      segment(where, ranks) {
  messages.resize(static_cast<std::size_t>(size));
  sent = received = messages;
  emulation::LaunchOrder& order = emulation::launch_order(device);
  const std::lock_guard lock(order.mutex);
  const bool first = order.members.empty();
  if (first) order.first_rank = rank;
  if (!(first && emulation::never_ready(rank))) {
    emulation::RankState& state = self();
    if (state.claimed.exchange(1) != 0) {
      throw std::runtime_error("rank " + std::to_string(rank) + " came to a communicator twice");
    }
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
      throw std::runtime_error("no device " + std::to_string(device));
    }
    std::memcpy(state.device_uuid.data(), properties.uuid.bytes, state.device_uuid.size());
    state.process = emulation::this_process();
    state.identity = emulation::identity_of(state.process, device);
    state.stage = emulation::Stage::here;
  }
  order.members.push_back(this);
}

ncclComm::~ncclComm() {
  emulation::Segment::release(place);
  emulation::LaunchOrder& order = emulation::launch_order(device);
  const std::lock_guard lock(order.mutex);
  std::erase(order.members, this);
}

void ncclComm::fail(ncclResult_t code, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_ != ncclSuccess) return;
  failure_text_ = text;
  failure_ = code;
}

ncclResult_t ncclComm::fail_all(ncclResult_t code, const std::string& text) {
  segment.judge(code, text);
  failure();  // the error of the rank that was first
  fail(code, text);
  return failure_;
}

ncclResult_t ncclComm::failure() {
  ncclResult_t code = ncclSuccess;
  std::string text;
  if (failure_ == ncclSuccess && segment.judged(code, text)) fail(code, text);
  return failure_;
}

const char* ncclComm::failure_text() const {
  const std::lock_guard lock(mutex_);
  return failure_text_.c_str();
}
