#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

namespace moe {

/// Who waits for a work of this rank.
enum class AwaitedBy : std::uint8_t {
  ranks,    ///< the other ranks, and the launcher
  launcher  ///< only the launcher (mpirun.h), once it is asked to end
};

struct WorkUnderWay {
  std::string what;
  AwaitedBy awaited_by = AwaitedBy::ranks;
  std::chrono::steady_clock::time_point begin;
};

/// Work that this rank does alone while others wait for it: planning, writing, reading. While the
/// object lives, no wait of another rank ends at its limit, and the launcher does not end the
/// ranks, as long as the process runs: a thread tells them again and again (mpi/told_work.h). No
/// call of a Communicator belongs into its life, or ranks would wait for each other without limit.
class AnnouncedWork {
 public:
  /// `what`: for messages, after the name of the rank: "plans after iteration 3".
  explicit AnnouncedWork(std::string what, AwaitedBy awaited_by = AwaitedBy::ranks);
  ~AnnouncedWork();
  AnnouncedWork(const AnnouncedWork&) = delete;
  AnnouncedWork& operator=(const AnnouncedWork&) = delete;

 private:
  std::list<WorkUnderWay>::iterator place_;
};

/// The oldest announced work of this process, for the ranks where there is one.
std::optional<WorkUnderWay> announced_work();

/// Whether other ranks wait for an announced work of this process.
bool ranks_wait_for_work();

}  // namespace moe
