#include "moe/communicator/local.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "moe/communicator/announced_work.h"
#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/subgroup.h"
#include "moe/errors.h"
#include "moe/threads.h"

/// Ranks that are threads of one process. The second of the two ranks of a message to come copies
/// it, from the memory of the one to that of the other. So nobody ends a call before its messages
/// have arrived.
namespace moe {
namespace {

class LocalMessages;

/// A message of which one side has come.
struct OpenMessage {
  LocalMessages* owner = nullptr;
  int place = 0;              ///< among the owner's messages
  std::byte* data = nullptr;  ///< only read where the owner sends
  std::int64_t bytes = 0;
};

struct LocalJob;

/// What the members of a group share.
struct LocalMembers {
  LocalMembers(LocalJob& job, std::vector<int> world_ranks)
      : job(job),
        world_ranks(std::move(world_ranks)),
        changed(this->world_ranks.size()),
        open(4 * this->world_ranks.size() * this->world_ranks.size()) {}

  /// Of messages on a channel that have no other side yet: those sent, or those awaited.
  std::vector<OpenMessage>& open_messages(int from, int to, Channel channel, bool awaited) {
    const auto pair = static_cast<std::size_t>(from) * world_ranks.size() + to;
    return open[4 * pair + 2 * static_cast<std::size_t>(channel) + (awaited ? 1 : 0)];
  }
  /// Ends all calls of the group with the reason; the first one stays. `culprit`: a member; -1
  /// where it is none.
  void fail(int culprit, const std::string& why);

  LocalJob& job;
  const std::vector<int> world_ranks;
  std::mutex mutex;                              ///< of all below, and of the memory of messages
  std::vector<std::condition_variable> changed;  ///< by member
  std::vector<std::vector<OpenMessage>> open;
  std::optional<std::string> failure;
};

/// Everything that the ranks of one run_local_ranks share; owns the groups.
struct LocalJob {
  explicit LocalJob(std::vector<int> node_of) : node_of(std::move(node_of)) {}

  const std::vector<int> node_of;  ///< by world rank
  std::mutex mutex;
  std::vector<std::unique_ptr<LocalMembers>> groups;
  std::optional<std::string> failure;
  std::atomic<int> culprit = -1;  ///< the world rank that failed first; -1 while none has

  LocalMembers& add_group(std::vector<int> world_ranks) {
    const std::lock_guard lock(mutex);
    groups.push_back(std::make_unique<LocalMembers>(*this, std::move(world_ranks)));
    groups.back()->failure = failure;
    return *groups.back();
  }
  void blame(int world_rank) {
    int nobody = -1;
    culprit.compare_exchange_strong(nobody, world_rank);
  }
  /// Ends all calls of all groups with the reason; the first one stays.
  void fail(int world_rank, const std::string& why) {
    blame(world_rank);
    const std::lock_guard lock(mutex);
    if (!failure) failure = why;
    for (const auto& group : groups) group->fail(-1, why);
  }
};

void LocalMembers::fail(int culprit, const std::string& why) {
  const std::lock_guard lock(mutex);
  if (failure) return;
  if (culprit >= 0) job.blame(world_ranks[culprit]);  // before anybody is told
  failure = why;
  for (std::condition_variable& one : changed) one.notify_all();
}

struct LocalGroup final : Group {
  LocalGroup(LocalMembers& members, int own_rank) : members(members) {
    rank = own_rank;
    world_ranks = members.world_ranks;
    std::vector<int> node_of;
    for (const int world_rank : world_ranks) node_of.push_back(members.job.node_of[world_rank]);
    nodes = group_nodes(node_of);
  }
  std::unique_ptr<Messages> messages(const CallContext& call, std::string_view collective) override;

  LocalMembers& members;
};

class LocalMessages final : public Messages {
 public:
  LocalMessages(LocalGroup& group, const CallContext& call, std::string_view collective)
      : group_(group), members_(group.members), call_(call), collective_(collective) {
    const std::lock_guard lock(members_.mutex);
    throw_if_failed();
  }
  LocalMessages(const LocalMessages&) = delete;
  LocalMessages& operator=(const LocalMessages&) = delete;
  ~LocalMessages() override {
    const std::lock_guard lock(members_.mutex);
    if (std::ranges::find(messages_, false, &Message::done) == messages_.end()) return;
    for (auto& open : members_.open) {
      std::erase_if(open, [&](const OpenMessage& one) { return one.owner == this; });
    }
  }

  void send(const void* data, std::int64_t bytes, int peer, Channel channel) override {
    group_.sent_bytes += bytes;
    add(const_cast<std::byte*>(static_cast<const std::byte*>(data)), bytes, peer, channel, true);
  }
  void receive(void* data, std::int64_t bytes, int peer, Channel channel) override {
    add(static_cast<std::byte*>(data), bytes, peer, channel, false);
  }
  int posted() const override { return static_cast<int>(messages_.size()); }

  void wait(int begin, int end) override {
    const auto limit = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(std::min(call_.time_limit_s, 1e8)));
    std::unique_lock lock(members_.mutex);
    begin_ = begin;
    end_ = end;
    missing_ =
        static_cast<int>(std::count_if(messages_.begin() + begin, messages_.begin() + end,
                                       [](const Message& message) { return !message.done; }));
    // The limit counts from when work was last under way, which is looked at meanwhile.
    using Clock = std::chrono::steady_clock;
    for (auto deadline = Clock::now() + limit; Clock::now() < deadline;) {
      const bool is_over = members_.changed[group_.rank].wait_until(
          lock, std::min(deadline, Clock::now() + limit / 8),
          [&] { return missing_ == 0 || members_.failure; });
      if (is_over) break;
      if (ranks_wait_for_work()) deadline = Clock::now() + limit;
    }
    if (missing_ == 0) return;
    throw_if_failed();
    std::set<int> waited_for;
    for (int place = begin; place < end; ++place) {
      const Message& message = messages_[place];
      if (!message.done) waited_for.insert(members_.world_ranks[message.peer]);
    }
    throw TimeLimit(waited_text(world_rank(), call_, collective_, waited_for));
  }

 private:
  struct Message {
    int peer = 0;
    bool done = false;
  };

  int world_rank() const { return members_.world_ranks[group_.rank]; }
  std::string_view what() const { return name_of(call_, collective_); }

  /// The caller holds the mutex, here and below.
  void throw_if_failed() const {
    if (!members_.failure) return;
    throw CommunicationError(
        fmt::format("rank {}: {} cannot finish: {}", world_rank(), what(), *members_.failure));
  }

  void finish(int place) {
    messages_[place].done = true;
    if (place < begin_ || place >= end_ || --missing_ > 0) return;
    members_.changed[group_.rank].notify_all();
  }

  void add(std::byte* data, std::int64_t bytes, int peer, Channel channel, bool sends) {
    if (peer < 0 || peer >= group_.size()) {
      throw std::invalid_argument(
          fmt::format("{}: rank {} of a group of {} ranks", collective_, peer, group_.size()));
    }
    const std::lock_guard lock(members_.mutex);
    throw_if_failed();
    const int from = sends ? group_.rank : peer, to = sends ? peer : group_.rank;
    const OpenMessage own{this, posted(), data, bytes};
    messages_.push_back({peer});
    auto& others = members_.open_messages(from, to, channel, sends);
    if (others.empty()) {
      members_.open_messages(from, to, channel, !sends).push_back(own);
      return;
    }
    const OpenMessage other = others.front();
    const OpenMessage &source = sends ? own : other, &target = sends ? other : own;
    if (own.bytes != other.bytes || collective_ != other.owner->collective_) {
      throw std::invalid_argument(
          fmt::format("rank {} sends {} bytes to rank {} in {}, which expects {} in {}",
                      members_.world_ranks[from], source.bytes, members_.world_ranks[to],
                      source.owner->collective_, target.bytes, target.owner->collective_));
    }
    others.erase(others.begin());
    if (bytes > 0) std::memcpy(target.data, source.data, static_cast<std::size_t>(bytes));
    finish(own.place);
    other.owner->finish(other.place);
  }

  LocalGroup& group_;
  LocalMembers& members_;
  const CallContext& call_;
  const std::string_view collective_;
  std::vector<Message> messages_;
  int begin_ = 0, end_ = 0;  ///< what wait() waits for
  int missing_ = 0;          ///< those of them that are not done
};

std::unique_ptr<Messages> LocalGroup::messages(const CallContext& call,
                                               std::string_view collective) {
  return std::make_unique<LocalMessages>(*this, call, collective);
}

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(LocalMembers& members, int rank)
      : Communicator(rank, static_cast<int>(members.world_ranks.size())), group_(members, rank) {}
  /// One rank that needs nobody; keeps its own job.
  explicit LocalCommunicator(std::unique_ptr<LocalJob> job)
      : LocalCommunicator(job->add_group({0}), 0) {
    own_job_ = std::move(job);
  }

  /// After an exception this group is of no use, and the other members must not wait for us.
  void run(const collective::Call& what, const CallContext& call) override {
    collective::dispatch(
        what, size, [&](const auto& one) { fail_together([&] { carry_out(group_, one, call); }); });
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    const int self = place_in_subgroup(ranks, rank, size);
    if (own_job_) return make_solo_communicator();
    std::vector<int> world_ranks;
    for (const int member : ranks) world_ranks.push_back(group_.world_ranks[member]);
    LocalMembers* made = nullptr;
    if (self == 0) made = &group_.members.job.add_group(world_ranks);
    fail_together([&] {
      const CallContext call;
      const auto messages = group_.messages(call, "split");
      for (const int member : ranks) {
        if (self == 0 && member != rank) messages->send(&made, sizeof made, member);
      }
      if (self > 0) messages->receive(&made, sizeof made, ranks[0]);
      messages->wait_all();
      if (made->world_ranks != world_ranks) {
        throw std::invalid_argument(
            fmt::format("split: ranks {} and {} name different groups", rank, ranks[0]));
      }
    });
    return std::make_unique<LocalCommunicator>(*made, self);
  }

 private:
  template <typename Body>
  void fail_together(const Body& body) {
    try {
      body();
      sent_bytes_ = group_.sent_bytes;
    } catch (const std::exception& error) {
      sent_bytes_ = group_.sent_bytes;
      group_.members.fail(rank, error.what());
      throw;
    }
  }

  std::unique_ptr<LocalJob> own_job_;
  LocalGroup group_;
};

}  // namespace

std::unique_ptr<Communicator> make_solo_communicator() {
  return std::make_unique<LocalCommunicator>(std::make_unique<LocalJob>(std::vector{0}));
}

void run_local_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  if (ranks < 1) throw std::invalid_argument(fmt::format("run_local_ranks: {} ranks", ranks));
  run_local_ranks(std::vector(static_cast<std::size_t>(ranks), 0), body);
}

void run_local_ranks(const std::vector<int>& node_of,
                     const std::function<void(Communicator&)>& body) {
  const auto ranks = static_cast<int>(node_of.size());
  LocalJob job(node_of);
  std::vector<int> all(ranks);
  for (int rank = 0; rank < ranks; ++rank) all[rank] = rank;
  LocalMembers& world = job.add_group(all);

  std::mutex mutex;
  std::vector<std::exception_ptr> thrown(ranks);
  std::exception_ptr first;
  {
    std::vector<std::jthread> threads;
    const auto start = [&](int rank) {
      threads.emplace_back([&, rank] {
        try {
          LocalCommunicator communicator(world, rank);
          body(communicator);
        } catch (...) {
          {
            const std::lock_guard lock(mutex);
            thrown[rank] = std::current_exception();
            if (!first) first = thrown[rank];
          }
          job.fail(rank, fmt::format("rank {} ended with an exception", rank));
        }
      });
    };
    for (int rank = 0; rank < ranks; ++rank) {
      try {
        start(rank);
      } catch (const std::system_error& error) {
        job.fail(rank, fmt::format("no thread can be started for rank {}", rank));
        throw_no_thread(fmt::format("rank {}", rank), error.code());
      }
    }
  }
  // A rank that failed inside a call may end after those that it told: its exception is the cause.
  if (job.culprit >= 0 && thrown[job.culprit]) std::rethrow_exception(thrown[job.culprit]);
  if (first) std::rethrow_exception(first);
}

}  // namespace moe
