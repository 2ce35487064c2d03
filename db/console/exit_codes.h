#pragma once

/// The exit codes of all programs and their meanings.
namespace db {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;    ///< a check or a run failed
inline constexpr int kExitWrongUse = 2;  ///< wrong use, or a wrong input file
inline constexpr int kExitOutOfMemory = 3;
inline constexpr int kExitTimeLimit = 124;

constexpr int exit_code_of_signal(int signal) { return 128 + signal; }

/// The same for the end of `--help`.
inline constexpr const char* kExitCodeHelp =
    "Exit codes: 0 done, 1 a check or a run failed, 2 wrong use or a wrong input\n"
    "file, 3 out of memory, 124 a time limit passed, 128 + N ended by signal N.";

}  // namespace db
