#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"

namespace moe {

/// The ranks that a program runs on, from its `--ranks N` (none: not given).
///
/// Inside an MPI job: the job's ranks; throws InputError when N is another number. Outside one: a
/// group of this process alone when N is 1 or none, and for more this process runs
/// `mpirun -np N` with the same arguments, ends as it ends (mpirun.h) and does not return. Throws InputError when N < 1 or
/// mpirun is not installed, Unavailable when built without MPI. Call it first in main, before
/// anything is written or any thread started. `start_limit_s`: see make_mpi_world.
std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s = default_start_limit_s);

/// Restarts this process, once, with OMP_WAIT_POLICY=passive unless the variable is set: OpenMP
/// reads it when it is loaded, and its threads would otherwise spin on the cores that communicate.
/// First in main.
void let_waiting_threads_sleep(char** argv);

/// What join_world runs; of the job's argv, the program and its arguments.
std::vector<std::string> mpirun_command(int ranks, char** argv);

/// Ranks of the MPI job as its launcher says in the environment; none outside a job or where it
/// does not say.
std::optional<int> mpi_job_size();

}  // namespace moe
