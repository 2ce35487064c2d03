#pragma once

#include <sys/types.h>

namespace moe {

/// The files that an mpirun of Open MPI 4 keeps on this machine: a folder among the temporary files
/// and segments of shared memory. It removes them at its end, and leaves them when it is killed.
/// Only folders that are this user's and that nobody else can write to are looked into, no link is
/// followed, and only segments of this user are removed.

/// Notes in the folder of this mpirun that a launcher of moelab started it. False where there is no
/// such folder (yet).
bool mark_mpirun_files(pid_t mpirun);

/// Removes what this mpirun, which has ended, has left.
void remove_mpirun_files(pid_t mpirun);

/// The same for every marked mpirun that is not alive any more: its launcher was killed with it.
void remove_abandoned_mpirun_files();

}  // namespace moe
