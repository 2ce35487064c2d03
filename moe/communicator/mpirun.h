#pragma once

#include <string>
#include <vector>

namespace moe {

/// Runs mpirun (command[0]) and ends this process as mpirun ends: with its exit code, or 128 + the
/// signal that ended it. Throws std::system_error where it cannot be started.
///
/// By itself mpirun answers SIGINT and SIGTERM by killing its ranks within a second, with exit code
/// 1, and ignores SIGHUP and a closed stdout. Here each of the four (stop.h) reaches the ranks as
/// SIGUSR1, which mpirun passes on and after which ranks end in order; the exit code is 128 + the
/// signal. When this process dies, mpirun gets SIGTERM.
[[noreturn]] void run_mpirun(const std::vector<std::string>& command);

}  // namespace moe
