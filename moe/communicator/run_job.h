#pragma once

#include <functional>
#include <optional>

#include "moe/communicator/communicator.h"
#include "moe/outcome.h"

namespace moe {

/// The ranks that a program runs on.
struct Job {
  std::optional<int> ranks;  ///< the value of `--ranks`; none where it is not given
  double time_limit_s = 60;  ///< how long ranks may wait for one another
  /// Hears why a job has failed; may be empty. Called once for a job that this program starts by
  /// mpirun, in the process that starts it; in a job of somebody else's mpirun, on every rank that
  /// gives up.
  std::function<void(const Outcome&)> failed{};
};

/// Runs a program on all ranks of a job. `prepare` reads the user's files: first in the process
/// that starts ranks, so that errors are reported before a rank is started, then on every rank,
/// however long it takes there (announced_work.h). `work` runs on every rank and returns the exit
/// code. Exceptions that all ranks throw together (Stopped, NotFinite, CheckpointError, LostOutput)
/// are reported once, by rank 0. After any other exception of `work` this rank names itself and ends
/// the whole job.
///
/// May replace this process by mpirun (launch.h): call it before anything is written or any thread
/// is started.
int run_job(const Job& job, char** argv, const std::function<void()>& prepare,
            const std::function<int(Communicator& world)>& work);

}  // namespace moe
