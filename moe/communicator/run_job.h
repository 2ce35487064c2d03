#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/console/in_process.h"
#include "db/console/launcher.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/same_inputs.h"
#include "moe/outcome.h"

namespace moe {

/// The ranks that a program runs on.
struct Job {
  std::optional<int> ranks;  ///< the value of `--ranks`; none where it is not given
  double time_limit_s = 60;  ///< how long ranks may wait for one another
  db::options::Launcher launcher{};
  /// Hears why a job has failed; may be empty. Called once for a job that this program starts by
  /// mpirun, in the process that starts it; in a job of somebody else's mpirun, on every rank that
  /// gives up.
  std::function<void(const Outcome&)> failed{};
  /// Where it has ranks, they are threads of this process, and the three above say nothing.
  db::options::InProcess in_process{};
};

/// What a program works with, and how it comes to the ranks.
struct JobInputs {
  std::vector<InputFact> given;  ///< what this process was given (option_facts.h)
  /// Reads what is small, the user's files and stdin, for all ranks: in the process that starts
  /// them, or on rank 0 of a job that somebody else has started. No other process needs these files.
  std::function<std::string()> read;
  /// Takes over what was read, and reads what each rank reads for itself: on every rank, and before
  /// them in the process that starts them, as rank 0. However long it takes (announced_work.h).
  /// Returns what must be alike.
  std::function<std::vector<InputFact>(const std::string& what_was_read, int rank)> take;
};

/// Runs a program on all ranks of a job. Errors of its inputs are reported before a rank is started,
/// where this process starts them. Ranks whose inputs differ do not begin: all end with 2.
/// `work` runs on every rank and returns the exit code. Exceptions that all ranks throw together
/// (Stopped, NotFinite, CheckpointError, LostOutput, Disagreement) are reported once, by rank 0.
/// After any other exception of `work` this rank names itself and ends the whole job; one that is a
/// thread does so when all others have ended too.
///
/// May replace this process by mpirun (launch.h): call it before anything is written or any thread
/// is started.
int run_job(const Job& job, char** argv, const JobInputs& inputs,
            const std::function<int(Communicator& world)>& work);

}  // namespace moe
