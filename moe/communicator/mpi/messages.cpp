#include "moe/communicator/mpi/messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <list>
#include <set>
#include <thread>

#include "moe/errors.h"
#include "moe/stop.h"

namespace moe {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t largest_message_bytes = std::int64_t{1} << 30;  // MPI counts in int
constexpr auto shortest_sleep = 20us;
constexpr auto longest_sleep = 100us;
constexpr auto notice_interval = 5ms;  // how often a waiting rank looks for others that gave up

std::atomic<int> abandoned = 0;
std::atomic<bool> told = false;

/// Linux rounds sleeps of ordinary threads up by 50 us unless told otherwise.
void sleep_precisely(std::chrono::microseconds duration) {
  thread_local const int told = prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  static_cast<void>(told);
  std::this_thread::sleep_for(duration);
}

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::mutex& mpi_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool another_rank_gave_up() { return told; }

int abandoned_messages() { return abandoned; }

void check_mpi(int code, std::string_view call) {
  if (code != MPI_SUCCESS) throw CommunicationError(fmt::format("{}: {}", call, text_of(code)));
}

int tag_of(const MpiGroup& group, Channel channel) {
  return group.context * 4 + static_cast<int>(channel);
}

void announce_failure(const MpiGroup& group, const std::string& why) noexcept {
  try {
    const std::lock_guard lock(mpi_mutex());
    static std::list<std::string> notices;  // MPI may read them until the process ends
    const std::string& notice = notices.emplace_back(why.substr(0, 500));
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(notice.data(), static_cast<int>(notice.size()), MPI_BYTE, group.world_ranks[peer],
                tag_of(group, Channel::gave_up), group.comm, &request);
      MPI_Request_free(&request);
    }
  } catch (const std::exception& error) {
    spdlog::error("cannot tell the other ranks of a failure: {}", error.what());
  }
}

MpiMessages::MpiMessages(MpiGroup& group, const CallContext& call, std::string_view collective)
    : group_(group),
      call_(call),
      what_(call.what.empty() ? std::string(collective) : call.what),
      start_(std::chrono::steady_clock::now()) {
  if (!group.failure.empty()) {
    throw CommunicationError(fmt::format("rank {}: {} on a communicator that failed before: {}",
                                         group.world_ranks[group.rank], what_, group.failure));
  }
  throw_if_another_gave_up();
}

MpiMessages::~MpiMessages() {
  const std::lock_guard lock(mpi_mutex());
  for (int i = 0; i < posted(); ++i) {
    MPI_Request& request = requests_[i];
    if (request == MPI_REQUEST_NULL) continue;
    if (receives_[i]) MPI_Cancel(&request);
    int done = 0;
    for (int attempt = 0; attempt < 10 && !done; ++attempt) {
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    }
    if (request != MPI_REQUEST_NULL) {
      ++abandoned;
      MPI_Request_free(&request);
    }
  }
}

void MpiMessages::send(const void* data, std::int64_t bytes, int peer, Channel channel) {
  const std::lock_guard lock(mpi_mutex());
  for (std::int64_t begin = 0; begin == 0 || begin < bytes; begin += largest_message_bytes) {
    const int part = static_cast<int>(std::min(largest_message_bytes, bytes - begin));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(static_cast<const std::byte*>(data) + begin, part, MPI_BYTE,
                        group_.world_ranks[peer], tag_of(group_, channel), group_.comm, &request),
              "MPI_Isend");
    group_.sent_bytes += part;
    requests_.push_back(request);
    peers_.push_back(peer);
    receives_.push_back(false);
  }
}

void MpiMessages::receive(void* data, std::int64_t bytes, int peer, Channel channel) {
  const std::lock_guard lock(mpi_mutex());
  for (std::int64_t begin = 0; begin == 0 || begin < bytes; begin += largest_message_bytes) {
    const int part = static_cast<int>(std::min(largest_message_bytes, bytes - begin));
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(static_cast<std::byte*>(data) + begin, part, MPI_BYTE,
                        group_.world_ranks[peer], tag_of(group_, channel), group_.comm, &request),
              "MPI_Irecv");
    requests_.push_back(request);
    peers_.push_back(peer);
    receives_.push_back(true);
  }
}

bool MpiMessages::test(int begin, int end) {
  finished_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const std::lock_guard lock(mpi_mutex());
  const int code = MPI_Testsome(end - begin, requests_.data() + begin, &count, finished_.data(),
                                statuses_.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < count; ++i) {
      if (statuses_[i].MPI_ERROR == MPI_SUCCESS) continue;
      throw CommunicationError(fmt::format(
          "rank {}: {}: message {} rank {}: {}", group_.world_ranks[group_.rank], what_,
          receives_[begin + finished_[i]] ? "from" : "to",
          group_.world_ranks[peers_[begin + finished_[i]]], text_of(statuses_[i].MPI_ERROR)));
    }
  }
  check_mpi(code, "MPI_Testsome");
  return count == MPI_UNDEFINED ||
         std::all_of(requests_.begin() + begin, requests_.begin() + end,
                     [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
}

void MpiMessages::wait(int begin, int end) {
  std::chrono::microseconds sleep = shortest_sleep;
  auto last_look = start_;
  // A message that is already there costs no sleep.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (test(begin, end)) return;
  }
  while (true) {
    sleep_precisely(sleep);
    if (test(begin, end)) return;
    sleep = std::min<std::chrono::microseconds>(sleep + sleep / 4, longest_sleep);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look > notice_interval) {
      last_look = now;
      throw_if_another_gave_up();
    }
    if (std::chrono::duration<double>(now - start_).count() > call_.time_limit_s) {
      fail_at_limit(begin, end);
    }
  }
}

void MpiMessages::throw_if_another_gave_up() {
  // mpirun, when a rank has died, leaves the others a second from its SIGTERM to its SIGKILL.
  if (stop_signal() == SIGTERM && seconds_since_stop() > 0.3) {
    throw CommunicationError(fmt::format("rank {}: {} cannot finish: this process was asked to end",
                                         group_.world_ranks[group_.rank], what_));
  }
  std::string notice;
  int sender = 0;
  {
    const std::lock_guard lock(mpi_mutex());
    int there = 0;
    MPI_Status status;
    check_mpi(
        MPI_Iprobe(MPI_ANY_SOURCE, tag_of(group_, Channel::gave_up), group_.comm, &there, &status),
        "MPI_Iprobe");
    if (!there) return;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    notice.resize(bytes);
    sender = status.MPI_SOURCE;
    check_mpi(MPI_Recv(notice.data(), bytes, MPI_BYTE, sender, status.MPI_TAG, group_.comm,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
  }
  told = true;
  // The sender told everybody: no need to tell again.
  group_.failure = fmt::format("rank {} gave up: {}", sender, notice);
  throw CommunicationError(fmt::format("rank {}: {} cannot finish: {}",
                                       group_.world_ranks[group_.rank], what_, group_.failure));
}

void MpiMessages::fail_at_limit(int begin, int end) {
  std::set<int> waited_for;
  for (int i = begin; i < end; ++i) {
    if (requests_[i] != MPI_REQUEST_NULL) waited_for.insert(group_.world_ranks[peers_[i]]);
  }
  throw TimeLimit(fmt::format(
      "rank {} waited {} s for rank{} {} in {}", group_.world_ranks[group_.rank],
      call_.time_limit_s, waited_for.size() == 1 ? "" : "s", fmt::join(waited_for, ", "), what_));
}

}  // namespace moe
