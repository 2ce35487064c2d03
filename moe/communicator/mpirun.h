#pragma once

#include <functional>
#include <string>
#include <vector>

#include "moe/outcome.h"

namespace moe {

/// Seconds that mpirun may take, beyond the limit of a wait, until its ranks run.
inline constexpr double kLaunchLimit_s = 10;

/// Hears of the end of ranks: the exit code, and what the ranks have told of it.
using EndedRanks = std::function<void(int code, const std::vector<Outcome>& told)>;

/// Runs mpirun, or another launcher that is called `name` in messages, and ends this process as it
/// ends: with its exit code, or 128 + the signal that ended it. Calls `ended` before. `input` is its
/// stdin, which mpirun hands on to rank 0. Codes above those of signals are the launcher's own
/// (mpirun: 205 where a host is gone) and end this process with 1. Throws std::system_error where
/// there can be no process, and NotStarted where it ends, unasked, before it has started a rank
/// (launcher_words.h). Out of memory, a time limit and signals (3, 124, 128 + N) are taken for answers
/// of ranks in any case.
///
/// mpirun by itself answers SIGINT and SIGTERM by killing its ranks within a second and exit code
/// 1, and takes no notice of SIGHUP and of a closed stdout. Here each of the four (stop.h) reaches
/// the ranks as SIGUSR1, which mpirun hands on and ranks end in order by, and the exit code is
/// 128 + the signal. When this process dies, mpirun gets SIGTERM.
///
/// An mpirun that hangs is ended, by SIGTERM and three seconds later by SIGKILL:
///   - when nothing has come from its ranks (launcher_words.h) for time_limit_s + launch_s: then
///     this throws NotStarted;
///   - when it has been stopped for time_limit_s: then this throws CommunicationError;
///   - when this process is asked to end: at once where nothing has come from its ranks, else after
///     time_limit_s in which no rank has told of its work (announced_work.h). It says for whom it
///     waits, and that it gives up.
/// Ranks that outlive mpirun, and files that it leaves (mpirun_files.h), are removed.
[[noreturn]] void run_mpirun(const std::vector<std::string>& command, double time_limit_s,
                             const EndedRanks& ended = {}, double launch_s = kLaunchLimit_s,
                             const std::string& input = {}, const std::string& name = "mpirun");

}  // namespace moe
