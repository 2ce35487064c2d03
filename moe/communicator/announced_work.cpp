#include "moe/communicator/announced_work.h"

#include <mutex>
#include <utility>

namespace moe {
namespace {

/// What all threads of the process have announced, the oldest first.
struct Announced {
  std::mutex mutex;
  std::list<WorkUnderWay> work;
};

Announced& announced() {
  static Announced one;
  return one;
}

}  // namespace

AnnouncedWork::AnnouncedWork(std::string what, AwaitedBy awaited_by) {
  const std::lock_guard lock(announced().mutex);
  auto& work = announced().work;
  place_ = work.insert(work.end(), {std::move(what), awaited_by, std::chrono::steady_clock::now()});
}

AnnouncedWork::~AnnouncedWork() {
  const std::lock_guard lock(announced().mutex);
  announced().work.erase(place_);
}

std::optional<WorkUnderWay> announced_work() {
  const std::lock_guard lock(announced().mutex);
  const auto& work = announced().work;
  for (const WorkUnderWay& one : work) {
    if (one.awaited_by == AwaitedBy::ranks) return one;
  }
  if (work.empty()) return std::nullopt;
  return work.front();
}

bool ranks_wait_for_work() {
  const auto work = announced_work();
  return work && work->awaited_by == AwaitedBy::ranks;
}

}  // namespace moe
