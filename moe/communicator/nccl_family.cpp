#include "moe/communicator/nccl_family.h"

#include <cuda_runtime_api.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace moe {
namespace {

void report(ncclResult_t code, std::string_view call) {
  if (code != ncclSuccess && code != ncclInProgress) {
    spdlog::error("{}: {}", call, ncclGetErrorString(code));
  }
}

/// Aborts communicators together, because memory is freed only when the kernels of all have ended
/// on the device. False if that takes too long; it then goes on by itself.
bool abort_together(std::vector<ncclComm_t> comms, int device) {
  if (comms.empty()) return true;
  std::packaged_task<void()> task([comms = std::move(comms), device] {
    if (cudaSetDevice(device) != cudaSuccess) cudaGetLastError();
    report(ncclGroupStart(), "ncclGroupStart");
    for (const ncclComm_t comm : comms) report(ncclCommAbort(comm), "ncclCommAbort");
    report(ncclGroupEnd(), "ncclGroupEnd");
  });
  const std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  return done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

}  // namespace

void check(ncclResult_t code, ncclComm_t comm, std::string_view call) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw CommunicationError(
      fmt::format("{}: {}: {}", call, ncclGetErrorString(code), ncclGetLastError(comm)));
}

std::string NcclMember::name() const {
  std::vector<int> others;
  for (const int other : world_ranks) {
    if (other != world_ranks[rank]) others.push_back(other);
  }
  if (others.empty()) return fmt::format("rank {} alone", world_ranks[rank]);
  constexpr std::size_t most = 16;
  const bool more = others.size() > most;
  if (more) others.resize(most);
  return fmt::format("rank {} with rank{} {}{}", world_ranks[rank], others.size() == 1 ? "" : "s",
                     fmt::join(others, ", "), more ? ", ..." : "");
}

NcclFamily::NcclFamily(Backend& backend, int device, double time_limit_s)
    : backend_(backend), device_(device), time_limit_s_(time_limit_s) {
  const auto abort = [this] {
    fail("a wait for the device exceeded its limit");
    const std::lock_guard lock(mutex_);
    stuck_ = true;  // whatever the device waits for, freeing memory would wait for it too
  };
  backend_.watch({[this] { return under_way(); }, abort});
}

NcclFamily::~NcclFamily() { backend_.watch({}); }

NcclFamily& NcclFamily::use_device() {
  check(cudaSetDevice(device_), "cudaSetDevice");
  return *this;
}

void NcclFamily::add(NcclMember& member) {
  const std::lock_guard lock(mutex_);
  members_.push_back(&member);
}

bool NcclFamily::remove(NcclMember& member) {
  const std::lock_guard lock(mutex_);
  std::erase(members_, &member);
  return !stuck_;
}

void NcclFamily::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
  std::vector<ncclComm_t> comms;
  for (NcclMember* member : members_) {
    const std::lock_guard member_lock(member->mutex);
    if (member->comm != nullptr) comms.push_back(std::exchange(member->comm, nullptr));
  }
  if (!abort_together(std::move(comms), device_)) stuck_ = true;
}

void NcclFamily::throw_aborted(const NcclMember& member) {
  const std::lock_guard lock(mutex_);
  throw CommunicationError(fmt::format("{}: NCCL was aborted: {}", member.name(), failure_));
}

bool NcclFamily::is_settled(NcclMember& member, std::string_view name) {
  ncclResult_t state = ncclSuccess;
  std::string why;
  const ncclResult_t asked = call(member, [&](ncclComm_t comm) {
    const ncclResult_t code = ncclCommGetAsyncError(comm, &state);
    if (code != ncclSuccess) state = code;
    if (state != ncclSuccess && state != ncclInProgress) why = ncclGetLastError(comm);
    return state;
  });
  if (!why.empty() || (asked != ncclSuccess && asked != ncclInProgress)) {
    throw CommunicationError(
        fmt::format("{}: {}: {}: {}", member.name(), name, ncclGetErrorString(asked), why));
  }
  return asked == ncclSuccess;
}

void NcclFamily::settle(NcclMember& member, ncclResult_t code, std::string_view name,
                        const CallContext& call) {
  guarded([&] {
    check(code, nullptr, name);
    wait_until([&] { return is_settled(member, name); }, member, call);
  });
}

void NcclFamily::finish(NcclMember& member) {
  if (cudaSetDevice(device_) != cudaSuccess) cudaGetLastError();
  if (std::uncaught_exceptions() > exceptions_) fail("this rank ended with an exception");
  {
    const std::lock_guard lock(member.mutex);
    if (member.comm == nullptr) return;
  }
  try {
    if (end_s_ == 0) end_s_ = steady_clock_s() + time_limit_s_;
    const CallContext left{.time_limit_s = std::max(0.0, end_s_ - steady_clock_s()),
                           .what = "the end of a communicator"};
    settle(member, call(member, ncclCommFinalize), "ncclCommFinalize", left);
    const std::lock_guard lock(member.mutex);
    report(ncclCommDestroy(std::exchange(member.comm, nullptr)), "ncclCommDestroy");
  } catch (const std::exception& error) {
    spdlog::error("{}", error.what());
  }
}

std::string NcclFamily::under_way() {
  std::vector<std::string> all;
  std::string failed;
  {
    const std::lock_guard lock(mutex_);
    for (NcclMember* member : members_) {
      const std::lock_guard member_lock(member->mutex);
      if (member->comm == nullptr || member->last.empty()) continue;
      ncclResult_t state = ncclSuccess;
      const ncclResult_t code = ncclCommGetAsyncError(member->comm, &state);
      if (code != ncclSuccess || (state != ncclSuccess && state != ncclInProgress)) {
        failed = fmt::format("{}: {}: {}: {}", member->name(), member->last,
                             ncclGetErrorString(code != ncclSuccess ? code : state),
                             ncclGetLastError(member->comm));
        break;
      }
      if (!is_ready(cudaEventQuery(member->done.get()), "cudaEventQuery")) {
        all.push_back(fmt::format("{} of {} has not ended", member->last, member->name()));
      }
    }
  }
  if (!failed.empty()) {
    fail(failed);
    throw CommunicationError(failed);
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace moe
