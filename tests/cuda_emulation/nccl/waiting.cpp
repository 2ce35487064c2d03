#include "tests/cuda_emulation/nccl/waiting.h"

#include <algorithm>
#include <thread>

#include "tests/cuda_emulation/nccl/faults.h"

namespace moelab::cuda_emulation::nccl {
namespace {

std::string text_of(const CallRecord& record) {
  return text_of(record.op, record.type, record.count, record.peer);
}

const CallRecord& last_of(const std::array<CallRecord, 2>& records, std::int64_t count) {
  return records[static_cast<std::size_t>((count - 1) % 2)];
}

/// The call in which `from` waits until `to` comes; empty where there is none.
std::string call_that_waits(const ncclComm& comm, int from, int to) {
  const RankState& state = comm.peer(from);
  if (state.arrived > comm.peer(to).arrived) return text_of(last_of(state.record, state.arrived));
  const Mailbox& there = comm.segment.mail(from, to);
  if (there.sends > there.receives) return text_of(last_of(there.sent, there.sends));
  const Mailbox& back = comm.segment.mail(to, from);
  if (back.receives > back.sends) return text_of(last_of(back.received, back.receives));
  return "";
}

/// The ranks of a circle through `self`, each of which waits for the next; empty where there is
/// none.
std::vector<int> circle_through(const ncclComm& comm, int self) {
  std::vector<int> before(static_cast<std::size_t>(comm.size), -1);
  std::vector<int> reached{self};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (int next = 0; next < comm.size; ++next) {
      if (call_that_waits(comm, reached[i], next).empty()) continue;
      if (next == self) {
        std::vector<int> circle{reached[i]};
        while (circle.back() != self) {
          circle.push_back(before[static_cast<std::size_t>(circle.back())]);
        }
        std::ranges::reverse(circle);
        return circle;
      }
      int& known = before[static_cast<std::size_t>(next)];
      if (known >= 0) continue;
      known = reached[i];
      reached.push_back(next);
    }
  }
  return {};
}

}  // namespace

void KernelWaits::pause(std::int64_t turn) {
  if (turn < 20) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(std::min<std::int64_t>(turn, 200)));
  }
}

bool KernelWaits::is_time_to_look() {
  const Clock::time_point now = Clock::now();
  if (now - last_look_ < std::chrono::milliseconds(3)) return false;
  last_look_ = now;
  ++comm_.self().heartbeat;
  return true;
}

bool KernelWaits::limit_is_over() const {
  return Clock::now() - last_progress_ > std::chrono::duration<double>(nccl_limit_s());
}

std::string KernelWaits::own_name() const {
  return kernel_ + " of rank " + std::to_string(comm_.rank);
}

KernelWaits::Finding KernelWaits::look(std::uint64_t missing) {
  if (const ncclResult_t code = comm_.failure(); code != ncclSuccess) {
    return {code, comm_.failure_text(), missing};
  }
  std::string late;
  for (int other = 0; other < comm_.size; ++other) {
    if ((missing >> other & 1) == 0) continue;
    if (const std::string why = why_gone(comm_, other); !why.empty()) {
      return {ncclRemoteError, own_name() + " waits in vain: " + why, std::uint64_t{1} << other};
    }
    late += (late.empty() ? "rank " : ", ") + std::to_string(other) + " (which has come to " +
            std::to_string(comm_.peer(other).arrived) + " collectives)";
  }
  if (const std::string circle = find_circle(); !circle.empty()) {
    return {ncclInvalidUsage, circle, missing};
  }
  if (!limit_is_over()) return {ncclSuccess, "", 0};
  return {ncclSystemError,
          own_name() + ", which has come to " + std::to_string(comm_.self().arrived) +
              " collectives, has waited too long for " + late,
          missing};
}

/// A rank that is slow may seem to wait for what has come already. So a circle counts only where
/// each of its ranks has looked around twice since it was seen first, and still waits.
std::string KernelWaits::find_circle() {
  const std::vector<int> circle = circle_through(comm_, comm_.rank);
  if (circle.empty() || circle != circle_) {
    circle_ = circle;
    heartbeats_.clear();
    for (const int member : circle) heartbeats_.push_back(comm_.peer(member).heartbeat);
    return "";
  }
  for (std::size_t i = 0; i < circle.size(); ++i) {
    if (comm_.peer(circle[i]).heartbeat < heartbeats_[i] + 3) return "";
  }
  std::string text = "ranks wait for each other";
  for (std::size_t i = 0; i < circle.size(); ++i) {
    const int next = circle[(i + 1) % circle.size()];
    text += (i == 0 ? ": " : "; ") + call_that_waits(comm_, circle[i], next) + " of rank " +
            std::to_string(circle[i]) + " waits for rank " + std::to_string(next);
  }
  return text;
}

bool KernelWaits::give_up(ncclResult_t code, const std::string& text) {
  comm_.fail_all(code, text);
  progressed();
  while (!comm_.aborted && !limit_is_over()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace moelab::cuda_emulation::nccl
