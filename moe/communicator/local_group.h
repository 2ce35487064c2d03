#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/communicator/collective_call.h"
#include "moe/communicator/communicator.h"

/// Where ranks that are threads of one process meet (local.cpp).
namespace moe {

struct LocalJob;
struct LocalGroup;

/// What one rank publishes for the others during a call.
struct LocalArguments {
  std::string_view name;          ///< what the rank calls
  collective::ArrayCall array{};  ///< in an all-to-all `count` is the bytes of a row
  int root = -1;                  ///< -1 where the call has none
  std::span<const Segment> send{};
  std::span<const collective::Chain> chains{};
  std::span<const ElementRange> arrays{};
  std::span<const int> ranks{};  ///< the group that a split asks for
  LocalGroup* made = nullptr;    ///< the group that a split has made

  bool same_call(const LocalArguments& other) const {
    return name == other.name && array.count == other.array.count &&
           array.dtype == other.array.dtype && root == other.root;
  }
};

/// Some ranks of the job and the place where they meet.
struct LocalGroup {
  LocalGroup(LocalJob& job, std::vector<int> world_ranks)
      : job(job),
        world_ranks(std::move(world_ranks)),
        arguments(this->world_ranks.size()),
        arrived(this->world_ranks.size(), false) {}

  /// Waits for the other ranks. Throws TimeLimit with those that are missing, and
  /// CommunicationError where the group has failed.
  void meet(int rank, const CallContext& call, std::string_view name);
  /// Throws CommunicationError. The caller holds `mutex`.
  void throw_if_failed(int rank, std::string_view what);
  /// Ends all calls of the group with the reason; the first one stays.
  void fail(const std::string& why);

  LocalJob& job;
  const std::vector<int> world_ranks;
  std::vector<LocalArguments> arguments;  ///< by rank; each rank writes its own between meetings

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> arrived;
  int waiting = 0;
  std::int64_t meetings = 0;
  std::optional<std::string> failure;
};

/// Everything that the ranks of one run_local_ranks share; owns the groups.
struct LocalJob {
  std::mutex mutex;
  std::vector<std::unique_ptr<LocalGroup>> groups;
  std::optional<std::string> failure;
  std::atomic<int> culprit = -1;  ///< the world rank that failed first; -1 while none has

  LocalGroup& add_group(std::vector<int> world_ranks);
  /// Takes the rank for the culprit, unless there is one.
  void blame(int world_rank);
  /// Ends all calls of all groups with the reason; the first one stays.
  void fail(int world_rank, const std::string& why);
};

}  // namespace moe
