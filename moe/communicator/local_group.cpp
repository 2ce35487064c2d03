#include "moe/communicator/local_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "moe/communicator/announced_work.h"
#include "moe/errors.h"

namespace moe {

LocalGroup& LocalJob::add_group(std::vector<int> world_ranks) {
  const std::lock_guard lock(mutex);
  groups.push_back(std::make_unique<LocalGroup>(*this, std::move(world_ranks)));
  groups.back()->failure = failure;
  return *groups.back();
}

void LocalJob::blame(int world_rank) {
  int nobody = -1;
  culprit.compare_exchange_strong(nobody, world_rank);
}

void LocalJob::fail(int world_rank, const std::string& why) {
  blame(world_rank);
  const std::lock_guard lock(mutex);
  if (!failure) failure = why;
  for (const auto& group : groups) group->fail(why);
}

void LocalGroup::fail(const std::string& why) {
  const std::lock_guard lock(mutex);
  if (!failure) failure = why;
  changed.notify_all();
}

void LocalGroup::throw_if_failed(int rank, std::string_view what) {
  if (failure) {
    throw CommunicationError(
        fmt::format("rank {}: {} cannot finish: {}", world_ranks[rank], what, *failure));
  }
}

void LocalGroup::meet(int rank, const CallContext& call, std::string_view name) {
  const std::string_view what = call.what.empty() ? name : std::string_view(call.what);
  std::unique_lock lock(mutex);
  throw_if_failed(rank, what);
  if (++waiting == static_cast<int>(world_ranks.size())) {
    waiting = 0;
    arrived.assign(arrived.size(), false);
    ++meetings;
    changed.notify_all();
    return;
  }
  arrived[rank] = true;
  const auto limit = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(call.time_limit_s, 1e8)));
  const std::int64_t meeting = meetings;
  bool over = false;
  do {
    over = changed.wait_until(lock, std::chrono::steady_clock::now() + limit,
                              [&] { return meetings != meeting || failure; });
  } while (!over && ranks_wait_for_work());
  if (meetings != meeting) return;
  if (over) throw_if_failed(rank, what);

  std::vector<int> missing;
  for (std::size_t peer = 0; peer < world_ranks.size(); ++peer) {
    if (!arrived[peer]) missing.push_back(world_ranks[peer]);
  }
  const std::string message =
      fmt::format("rank {} waited {} s for rank{} {} in {}", world_ranks[rank], call.time_limit_s,
                  missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), what);
  job.blame(world_ranks[rank]);  // before anybody is told
  failure = message;
  changed.notify_all();
  throw TimeLimit(message);
}

}  // namespace moe
