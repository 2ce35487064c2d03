#pragma once

#include <optional>
#include <string>

#include "db/console/in_process.h"

/// What launchers say of this process in its environment: whether it is a rank, and of how many.
namespace moe {

/// Whether this process belongs to an MPI job (mpirun, srun with PMI).
bool inside_mpi_job();

/// This process's rank in the MPI job as its launcher says in the environment; none outside a job.
std::optional<int> mpi_job_rank();

/// Ranks of the MPI job as its launcher, or Slurm, says in the environment; none outside a job or
/// where neither does.
std::optional<int> mpi_job_size();

/// `ranks`, or where there are none, and this process is no rank, as many as `hostfile` has slots, or
/// without a hostfile as the Slurm allocation has tasks that it runs in; which is told on stderr. None
/// where neither says. Throws InputError where the hostfile cannot be read.
std::optional<int> ranks_or_allocation(std::optional<int> ranks, const std::string& hostfile = "");

/// As many as are threads of this process, else ranks_or_allocation(). Throws InputError where ranks
/// in a process do not fit together or to `device`, or where this process is a rank itself.
std::optional<int> ranks_of(std::optional<int> ranks, const std::string& hostfile,
                            const db::options::InProcess& in_process, const std::string& device);

/// Throws InputError where srun has started this process as one of several tasks and no MPI job:
/// each would believe to be alone. A program that was told `--ranks 1` may.
void refuse_lone_tasks(std::optional<int> ranks);

/// Throws InputError where this process is one of several tasks or ranks. For a `program` that
/// starts its ranks itself.
void refuse_several_tasks(const std::string& program);

/// Takes what names the MPI job of this process out of the environment, so that programs which this
/// process starts are no part of it. Call it before any thread is started.
void leave_mpi_job();

}  // namespace moe
