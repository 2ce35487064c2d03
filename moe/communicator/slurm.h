#pragma once

#include <optional>

/// What Slurm says of this process in its environment. Batch scripts, and shells under salloc, have
/// an allocation and start ranks in it. Tasks, which srun starts, are ranks themselves.
namespace moe {

/// How many tasks srun started together, where this process is one of them or their descendant;
/// none elsewhere.
std::optional<int> tasks_of_slurm_step();

/// The --ntasks of the allocation in which this process, no task, may start ranks; none outside an
/// allocation, in a task, or where no --ntasks was given.
std::optional<int> tasks_of_slurm_allocation();

/// Whether a batch system (Slurm, PBS, LSF, Grid Engine) has given this process hosts and cores.
bool inside_allocation();

}  // namespace moe
