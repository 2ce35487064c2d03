#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/communicator/mpirun.h"

namespace moe {

/// The ranks that a program runs on, from its `--ranks N` (none: not given).
///
/// Inside an MPI job these are the job's ranks; throws InputError when N is another number. Outside
/// one, where N is 1 or none, they are this process alone. For more, this process runs `mpirun -np
/// N` with the same arguments, ends as mpirun ends (mpirun.h), and does not return. Throws
/// InputError when N < 1 or mpirun is not installed, Unavailable in a build without MPI. Call it
/// first in main, before anything is written or any thread started. `start_limit_s`: see
/// make_mpi_world and run_mpirun. `ended` is called before this process
/// ends with mpirun's exit code. `input` is what rank 0 then has on stdin. join_world also sets the variables that CUDA and NCCL read when they start, where
/// the user has not, since no thread may run beside that.
std::unique_ptr<Communicator> join_world(std::optional<int> ranks, char** argv,
                                         double start_limit_s = kDefaultStartLimit_s,
                                         const EndedRanks& ended = {},
                                         const std::string& input = {});

/// The command that join_world runs; `argv` is the program and its arguments.
std::vector<std::string> mpirun_command(int ranks, char** argv);

/// This process's rank in the MPI job as its launcher says in the environment; none outside a job.
std::optional<int> mpi_job_rank();

/// Ranks of the MPI job as its launcher says in the environment; none outside a job or where it
/// does not say.
std::optional<int> mpi_job_size();

}  // namespace moe
