#include "moe/communicator/mpi_job.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "moe/communicator/hostfile.h"
#include "moe/communicator/slurm.h"
#include "moe/errors.h"

namespace moe {
namespace {

constexpr std::array kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                       "MV2_COMM_WORLD_RANK"};
constexpr std::array kSizeVariables = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};

/// Variables of these beginnings name the job of a process and its place in it.
constexpr std::array kVariablesOfJob = {"PMI_",
                                        "PMIX_",
                                        "OMPI_COMM_WORLD_",
                                        "MV2_COMM_WORLD_",
                                        "OMPI_APP_CTX_",
                                        "OMPI_FILE_LOCATION",
                                        "OMPI_FIRST_RANKS",
                                        "OMPI_NUM_APP_CTX",
                                        "OMPI_UNIVERSE_SIZE",
                                        "OMPI_MCA_ess",
                                        "OMPI_MCA_orte_app_num",
                                        "OMPI_MCA_orte_bound_at_launch",
                                        "OMPI_MCA_orte_ess_",
                                        "OMPI_MCA_orte_hnp_uri",
                                        "OMPI_MCA_orte_jobfam_session_dir",
                                        "OMPI_MCA_orte_launch",
                                        "OMPI_MCA_orte_local_daemon_uri",
                                        "OMPI_MCA_orte_num_nodes",
                                        "OMPI_MCA_orte_precondition_transports",
                                        "OMPI_MCA_orte_top_session_dir"};
/// Settings of PMIx.
constexpr std::string_view kPmixSettings = "PMIX_MCA_";

}  // namespace

bool inside_mpi_job() {
  for (const char* variable : kRankVariables) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

std::optional<int> mpi_job_rank() {
  for (const char* variable : kRankVariables) {
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  }
  return std::nullopt;
}

std::optional<int> mpi_job_size() {
  if (!inside_mpi_job()) return std::nullopt;
  for (const char* variable : kSizeVariables) {
    if (const char* value = std::getenv(variable)) {
      const int size = std::atoi(value);
      if (size > 0) return size;
    }
  }
  return tasks_of_slurm_step();
}

std::optional<int> ranks_or_allocation(std::optional<int> ranks, const std::string& hostfile) {
  if (inside_mpi_job()) return ranks;
  const auto slots = hostfile.empty() ? std::nullopt : slots_of_hostfile(hostfile);
  if (ranks) return ranks;
  if (!hostfile.empty()) {
    if (slots) spdlog::info("--ranks {}: as many as the slots of {}", *slots, hostfile);
    return slots;
  }
  const auto tasks = tasks_of_slurm_allocation();
  if (tasks) {
    spdlog::info("--ranks {}: as many as the tasks of Slurm's allocation (SLURM_NTASKS)", *tasks);
  }
  return tasks;
}

std::optional<int> ranks_of(std::optional<int> ranks, const std::string& hostfile,
                            const db::options::InProcess& in_process, const std::string& device) {
  if (!in_process) return ranks_or_allocation(ranks, hostfile);
  if (inside_mpi_job()) {
    throw InputError(fmt::format(
        "--ranks-in-process {}: this process is a rank of an MPI job: expected no launcher",
        in_process.ranks));
  }
  if (const std::string fault = in_process.fault(device); !fault.empty()) throw InputError(fault);
  return in_process.ranks;
}

void refuse_lone_tasks(std::optional<int> ranks) {
  const int tasks = tasks_of_slurm_step().value_or(1);
  if (tasks == 1 || inside_mpi_job() || ranks == 1) return;
  throw InputError(
      fmt::format("Slurm has started {} tasks without PMI, so that each would be alone: expected "
                  "`srun --mpi=pmix`, or --ranks 1 where each task is to run by itself",
                  tasks));
}

void refuse_several_tasks(const std::string& program) {
  const int tasks = std::max(mpi_job_size().value_or(tasks_of_slurm_step().value_or(1)),
                             mpi_job_rank().value_or(0) + 1);
  if (tasks == 1) return;
  throw InputError(
      fmt::format("{} was started as {} tasks, and starts its ranks itself: expected it once, by "
                  "sbatch or salloc without srun or mpirun",
                  program, tasks));
}

void leave_mpi_job() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view assignment = *entry;
    const std::string_view name = assignment.substr(0, assignment.find('='));
    const bool of_job = std::any_of(kVariablesOfJob.begin(), kVariablesOfJob.end(),
                                    [&](const char* begin) { return name.starts_with(begin); });
    if (of_job && !name.starts_with(kPmixSettings)) names.emplace_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace moe
