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

#include "moe/communicator/awake.h"
#include "moe/communicator/mpi/told_work.h"
#include "moe/errors.h"
#include "moe/stop.h"
#include "moe/threads.h"

namespace moe {
namespace {

using namespace std::chrono_literals;

/// See MpiMessages. Before a word arrives, at most kUnsentBytes and the kernel's buffers are under
/// way in each direction. That is less than kPostedBytes - kCreditBytes, so no sender waits for the
/// word.
constexpr std::int64_t kCreditBytes = std::int64_t{1} << 20;
constexpr std::int64_t kPostedBytes = std::int64_t{4} << 20;
constexpr std::int64_t kUnsentBytes = std::int64_t{512} << 10;

constexpr auto kNoticeInterval = 5ms;  // how often a waiting rank looks for others that gave up

std::atomic<int> abandoned = 0;
std::atomic<bool> told = false;

/// Linux rounds sleeps of ordinary threads up by 50 us unless told otherwise.
void sleep_precisely(double duration_s) {
  thread_local const int told = prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  static_cast<void>(told);
  std::this_thread::sleep_for(std::chrono::duration<double>(duration_s));
}

double seconds_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
double now_s() { return seconds_of(std::chrono::steady_clock::now()); }

/// Words that a receiver has sent after posting so many bytes of a stream.
std::int64_t words_at(std::int64_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / kCreditBytes; }

[[noreturn]] void throw_failure(const std::string& text, int signal) {
  if (signal != 0) throw Interrupted(text, signal);
  throw CommunicationError(text);
}

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

MpiGroup part_of(const MpiGroup& group, std::span<const int> members, int self, int context) {
  MpiGroup part;
  part.comm = group.comm;
  part.rank = self;
  part.context = context;
  std::vector<int> node_of;
  for (const int member : members) {
    part.world_ranks.push_back(group.world_ranks[member]);
    part.peers.push_back(group.peers[member]);
    node_of.push_back(group.peers[member].node);
  }
  part.nodes = group_nodes(node_of);
  part.arrived_s.resize(members.size());
  return part;
}

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
    std::string& notice = notices.emplace_back(1, static_cast<char>(stop_signal()));
    notice += why.substr(0, 500);
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(notice.data(), static_cast<int>(notice.size()), MPI_BYTE, group.world_ranks[peer],
                tag_of(group, kGaveUp), group.comm, &request);
      MPI_Request_free(&request);
    }
  } catch (const std::exception& error) {
    spdlog::error("cannot tell the other ranks of a failure: {}", error.what());
  }
}

std::unique_ptr<Messages> MpiGroup::messages(const CallContext& call, std::string_view collective) {
  return std::make_unique<MpiMessages>(*this, call, collective);
}

MpiMessages::MpiMessages(MpiGroup& group, const CallContext& call, std::string_view collective)
    : group_(group),
      call_(call),
      what_(name_of(call, collective)),
      start_(std::chrono::steady_clock::now()),
      streams_(4 * group.size()),
      awaited_words_(group.size()),
      awaits_word_(group.size(), false) {
  if (!group.failure.empty()) {
    throw_failure(fmt::format("rank {}: {} on a communicator that failed before: {}",
                              group.world_ranks[group.rank], what_, group.failure),
                  group.stop_signal);
  }
}

MpiMessages::~MpiMessages() {
  const std::lock_guard lock(mpi_mutex());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    MPI_Request& request = requests_[i];
    if (request == MPI_REQUEST_NULL) continue;
    if (of_request_[i].receives()) MPI_Cancel(&request);
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
  add(const_cast<std::byte*>(static_cast<const std::byte*>(data)), bytes, peer, channel, false);
}

void MpiMessages::receive(void* data, std::int64_t bytes, int peer, Channel channel) {
  add(static_cast<std::byte*>(data), bytes, peer, channel, true);
}

void MpiMessages::add(std::byte* data, std::int64_t bytes, int peer, Channel channel,
                      bool receives) {
  const int stream = stream_of(peer, channel, receives);
  messages_.push_back({data, bytes, peer});
  if (is_near(peer)) {
    ++near_messages_;
  } else {
    missing_bytes_[receives ? 0 : 1] += bytes;
  }
  const bool listed = !streams_[stream].started();
  streams_[stream].messages.push_back(posted() - 1);
  {
    const std::lock_guard lock(mpi_mutex());
    start_fragments(stream);
  }
  if (!listed && !streams_[stream].started()) unfinished_streams_.push_back(stream);
}

void MpiMessages::start_fragments(int index) {
  Stream& stream = streams_[index];
  const bool receives = receives_of(index);
  for (; !stream.started(); ++stream.next) {
    Message& message = messages_[stream.messages[stream.next]];
    const std::int64_t whole_fragment = group_.peers[message.peer].fragment_bytes;
    const bool near = is_near(message.peer);
    while (!message.all_started) {
      const std::int64_t fragment = std::min(whole_fragment, message.bytes - message.started_bytes);
      const std::int64_t words = near ? 0 : words_at(stream.started_bytes + fragment);
      if (!near && stream.under_way_bytes > 0 &&
          stream.under_way_bytes + fragment > (receives ? kPostedBytes : kUnsentBytes)) {
        return;
      }
      if (!receives && stream.words < words) {
        await_word(message.peer);
        return;
      }
      start_fragment(index, fragment);
      if (receives && stream.words < words) {
        ++stream.words;
        give_word(message.peer, channel_of(index));
      }
    }
  }
}

void MpiMessages::start_fragment(int index, std::int64_t bytes) {
  Stream& stream = streams_[index];
  Message& message = messages_[stream.messages[stream.next]];
  std::byte* data = message.data + message.started_bytes;
  const Request request{stream.messages[stream.next], index, message.peer, bytes};
  const Peer& peer = group_.peers[message.peer];
  if (!receives_of(index)) {
    group_.sent_bytes += bytes;
    if (peer.node != group_.peers[group_.rank].node) group_.sent_to_other_nodes_bytes += bytes;
  }
  if (!receives_of(index) && peer.route) {
    paced_.push_back({request, data, peer.route->leave(bytes, now_s())});
  } else {
    hand_to_mpi(request, data);
  }
  stream.started_bytes += bytes;
  stream.under_way_bytes += bytes;
  message.started_bytes += bytes;
  message.all_started = message.started_bytes == message.bytes;
  ++message.fragments_under_way;
}

void MpiMessages::hand_to_mpi(const Request& one, std::byte* data) {
  const int peer = group_.world_ranks[one.peer], tag = tag_of(group_, channel_of(one.stream));
  const int count = static_cast<int>(one.bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  if (receives_of(one.stream)) {
    check_mpi(MPI_Irecv(data, count, MPI_BYTE, peer, tag, group_.comm, &request), "MPI_Irecv");
  } else {
    check_mpi(MPI_Isend(data, count, MPI_BYTE, peer, tag, group_.comm, &request), "MPI_Isend");
  }
  requests_.push_back(request);
  of_request_.push_back(one);
}

void MpiMessages::hand_over_arrived(double now) {
  std::erase_if(paced_, [&](PacedFragment& fragment) {
    if (!fragment.arrives_s && fragment.leaves_s <= now) {
      const PacedRoute& route = *group_.peers[fragment.request.peer].route;
      fragment.arrives_s = route.arrive(fragment.request.bytes, fragment.leaves_s);
    }
    if (!fragment.arrives_s || *fragment.arrives_s > now) return false;
    hand_to_mpi(fragment.request, fragment.data);
    return true;
  });
}

void MpiMessages::await_word(int peer) {
  if (awaits_word_[peer]) return;
  awaits_word_[peer] = true;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(&awaited_words_[peer], 1, MPI_INT32_T, group_.world_ranks[peer],
                      tag_of(group_, kCredit), group_.comm, &request),
            "MPI_Irecv");
  requests_.push_back(request);
  of_request_.push_back({.peer = peer});
}

void MpiMessages::give_word(int peer, Channel channel) {
  static constexpr std::int32_t words[] = {0, 1};  // MPI may read it until it is sent
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(&words[static_cast<int>(channel)], 1, MPI_INT32_T, group_.world_ranks[peer],
                      tag_of(group_, kCredit), group_.comm, &request),
            "MPI_Isend");
  // The fragments that it asks for cannot arrive before it has left: nobody needs to wait for it.
  MPI_Request_free(&request);
}

void MpiMessages::finish(const Request& request) {
  if (request.message < 0) {
    awaits_word_[request.peer] = false;
    ++streams_[stream_of(request.peer, Channel(awaited_words_[request.peer]), false)].words;
    return;
  }
  streams_[request.stream].under_way_bytes -= request.bytes;
  Message& message = messages_[request.message];
  --message.fragments_under_way;
  if (is_near(request.peer)) {
    if (message.done()) --near_messages_;
    return;
  }
  missing_bytes_[request.receives() ? 0 : 1] -= request.bytes;
  if (!request.receives()) return;
  const double now = now_s();
  group_.pace.arrived(request.bytes, now);
  group_.arrived_s[static_cast<std::size_t>(request.peer)] = now;
}

bool MpiMessages::test(int& begin, int end) {
  const std::lock_guard lock(mpi_mutex());
  if (!paced_.empty()) hand_over_arrived(now_s());
  const auto requests = static_cast<int>(requests_.size());
  finished_.resize(requests);
  statuses_.resize(requests);
  int count = 0;
  const int code =
      MPI_Testsome(requests, requests_.data(), &count, finished_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < count; ++i) {
      if (statuses_[i].MPI_ERROR == MPI_SUCCESS) continue;
      const Request& failed = of_request_[finished_[i]];
      throw CommunicationError(
          fmt::format("rank {}: {}: message {} rank {}: {}", group_.world_ranks[group_.rank], what_,
                      failed.receives() ? "from" : "to", group_.world_ranks[failed.peer],
                      text_of(statuses_[i].MPI_ERROR)));
    }
  }
  check_mpi(code, "MPI_Testsome");
  last_finished_ = count == MPI_UNDEFINED ? 0 : count;
  if (last_finished_ > 0) {
    for (int i = 0; i < count; ++i) finish(of_request_[finished_[i]]);
    forget_finished();
    std::erase_if(unfinished_streams_, [&](int stream) {
      start_fragments(stream);
      return streams_[stream].started();
    });
  }
  while (begin < end && messages_[begin].done()) ++begin;
  return begin == end;
}

/// Requests that MPI has set to null make room.
void MpiMessages::forget_finished() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    of_request_[kept++] = of_request_[i];
  }
  requests_.resize(kept);
  of_request_.resize(kept);
}

bool MpiMessages::test_all(int& begin, int end) {
  do {
    if (test(begin, end)) return true;
  } while (last_finished_ > 0);
  return false;
}

bool MpiMessages::is_near(int peer) const {
  return group_.peers[peer].fragment_bytes == kWholeMessageBytes;
}

double MpiMessages::next_sleep_s() const {
  const double now = now_s();
  const auto wait_for = [&](std::int64_t missing_bytes) {
    return group_.pace.sleep_s(missing_bytes, near_messages_ > 0, now);
  };
  if (paced_.empty()) return wait_for(std::max(missing_bytes_[0], missing_bytes_[1]));
  // What is to be sent is not with the kernel: it waits for moments that are known.
  const bool receives = missing_bytes_[0] > 0 || near_messages_ > 0;
  double sleep_s = receives ? wait_for(missing_bytes_[0]) : Pace::kLongest_s;
  for (const PacedFragment& fragment : paced_) {
    sleep_s = std::min(sleep_s, fragment.next_s() - now);
  }
  return std::max(sleep_s, Pace::kShortest_s);
}

void MpiMessages::wait(int begin, int end) {
  auto last_look = start_;
  // A message that is already there costs no sleep.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (test(begin, end)) return;
  }
  const double began_s = now_s();
  group_.pace.begin(began_s);
  // In a box the kernel sends while a rank sleeps. In a paced one the rank itself does, so it must
  // not wait for a tick when it wakes, even on a thread that computes.
  std::optional<WakesAtOnce> prompt;
  if (!paced_.empty()) prompt.emplace();
  while (true) {
    // A core that has nothing else to do looks at once; a rank that is late is not worth that.
    const double before_s = now_s();
    if (before_s - began_s < kLongestAwake_s && waits_awake()) {
      std::this_thread::yield();
      if (now_s() - before_s > kLongestYield_s) core_is_wanted();
    } else {
      sleep_precisely(next_sleep_s());
    }
    if (test_all(begin, end)) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look > kNoticeInterval) {
      last_look = now;
      throw_if_another_gave_up(begin, end);
    }
    if (std::chrono::duration<double>(now - start_).count() > call_.time_limit_s) {
      fail_unless_a_rank_works(begin, end);
    }
  }
}

bool MpiMessages::is_told(MPI_Status& status) const {
  const std::lock_guard lock(mpi_mutex());
  int there = 0;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag_of(group_, kGaveUp), group_.comm, &there, &status),
            "MPI_Iprobe");
  return there != 0;
}

void MpiMessages::throw_if_another_gave_up(int& begin, int end) {
  // mpirun, when a rank has died, leaves the others a second from its SIGTERM to its SIGKILL.
  if (stop_signal() == SIGTERM && seconds_since_stop() > 0.3 && !finishes_together()) {
    throw Interrupted(fmt::format("rank {}: {} cannot finish: this process was asked to end ({})",
                                  group_.world_ranks[group_.rank], what_, stop_reason(SIGTERM)),
                      SIGTERM);
  }
  {
    const std::lock_guard lock(mpi_mutex());
    hear_work(group_.comm);
  }
  MPI_Status status;
  if (!is_told(status)) return;
  // What it sent before it gave up counts: all ranks may just have agreed to end.
  if (test_all(begin, end)) return;
  std::string notice;
  int sender = 0;
  {
    const std::lock_guard lock(mpi_mutex());
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
  group_.stop_signal = notice.empty() ? 0 : notice.front();
  group_.failure = fmt::format("rank {} gave up: {}", sender,
                               notice.substr(std::min<std::size_t>(1, notice.size())));
  throw_failure(fmt::format("rank {}: {} cannot finish: {}", group_.world_ranks[group_.rank], what_,
                            group_.failure),
                group_.stop_signal);
}

/// The limit counts from the last word of a rank on its work: that it works, or does no more.
void MpiMessages::fail_unless_a_rank_works(int begin, int end) {
  std::optional<ToldWork> heard;
  {
    const std::lock_guard lock(mpi_mutex());
    heard = hear_work(group_.comm);
  }
  const auto now = std::chrono::steady_clock::now();
  const auto silent_s = [&] { return std::chrono::duration<double>(now - heard->told_at).count(); };
  if (heard && silent_s() < call_.time_limit_s) return;
  std::set<int> waited_for;
  for (int i = begin; i < end; ++i) {
    if (!messages_[i].done()) waited_for.insert(group_.world_ranks[messages_[i].peer]);
  }
  std::string last_word;
  if (heard && heard->told_at > start_ && !heard->what.empty()) {
    last_word = fmt::format("; the last word of rank {}, {:.0f} s ago: {}", heard->rank, silent_s(),
                            heard->what);
  }
  throw TimeLimit(waited_text(group_.world_ranks[group_.rank], call_, what_, waited_for) +
                  last_word);
}

}  // namespace moe
