#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"

namespace moe {

/// The ranks that a program runs on, from its `--ranks N` (none: not given).
///
/// Inside an MPI job these are the job's ranks; throws InputError when N is another number. Outside
/// one, where N is 1 or none, they are this process alone. For more, this process runs `mpirun -np
/// N` with the same arguments, ends as mpirun ends (mpirun.h), and does not return. Throws
/// InputError when N < 1 or mpirun is not installed, Unavailable in a build without MPI. Call it
/// first in main, before anything is written or any thread started. `start_limit_s`: see
/// make_mpi_world.
std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s = kDefaultStartLimit_s);

/// Decides whether the threads of a rank wait for work awake or asleep. OpenMP reads that when it
/// is loaded, so this restarts the process, once. Threads wait awake if the rank's share of the
/// cores (cores.h), less those on which others compute now, leaves at least one free. Otherwise
/// they wait asleep, and always in a cluster in a box, whose cores also move bytes. `ranks` as in
/// join_world; `threads` per rank, 0 = the default. The user's OMP_WAIT_POLICY and GOMP_SPINCOUNT
/// win. Does nothing where join_world will start the ranks. Call it before anything is written or
/// any thread started.
void choose_waiting(std::optional<int> ranks, int threads, char** argv);

/// What the environment of this process says about it.
Waiting waiting_of_threads();

/// The command that join_world runs for the program and arguments of argv.
std::vector<std::string> mpirun_command(int ranks, char** argv);

/// Ranks of the MPI job, as its launcher says in the environment. None outside a job, or where the
/// launcher does not say.
std::optional<int> mpi_job_size();

}  // namespace moe
