#pragma once

#include <functional>
#include <string>
#include <vector>

namespace moe {

/// Runs mpirun (command[0]) and ends this process as it ends: with its exit code, or 128 + the
/// signal that ended it. Calls `ended` with that code before. Throws std::system_error where it cannot be started.
///
/// mpirun by itself answers SIGINT and SIGTERM by killing its ranks within a second and exit code
/// 1, and takes no notice of SIGHUP and of a closed stdout. Here each of the four (stop.h) reaches
/// the ranks as SIGUSR1, which mpirun hands on and ranks end in order by, and the exit code is
/// 128 + the signal. When this process dies, mpirun gets SIGTERM.
[[noreturn]] void run_mpirun(const std::vector<std::string>& command,
                             const std::function<void(int code)>& ended = {});

}  // namespace moe
