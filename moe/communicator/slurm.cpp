#include "moe/communicator/slurm.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace moe {
namespace {

std::string_view slurm_value(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::optional<int> count_in(const char* variable) {
  const std::string_view text = slurm_value(variable);
  int count = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), count).ptr;
  if (text.empty() || end != text.data() + text.size() || count < 1) return std::nullopt;
  return count;
}

/// srun numbers its steps from 0. The largest numbers are those of batch scripts, of the shells that
/// salloc starts on a node, and of what is no step.
bool is_numbered_step(std::string_view step) {
  constexpr std::array<std::string_view, 4> others = {"4294967290", "4294967291", "4294967292",
                                                      "4294967293"};
  return std::find(others.begin(), others.end(), step) == others.end();
}

bool is_task() {
  if (slurm_value("SLURM_JOB_ID").empty() || slurm_value("SLURM_PROCID").empty()) return false;
  const std::string_view step = slurm_value("SLURM_STEP_ID");
  // A batch script has a SLURM_PROCID too, and this beside it. Its tasks inherit that.
  if (step.empty()) return slurm_value("ENVIRONMENT") != "BATCH";
  return is_numbered_step(step);
}

}  // namespace

std::optional<int> tasks_of_slurm_step() {
  if (!is_task()) return std::nullopt;
  if (const auto tasks = count_in("SLURM_STEP_NUM_TASKS")) return tasks;
  return count_in("SLURM_NTASKS").value_or(1);
}

std::optional<int> tasks_of_slurm_allocation() {
  if (slurm_value("SLURM_JOB_ID").empty() || is_task()) return std::nullopt;
  return count_in("SLURM_NTASKS");
}

bool inside_allocation() {
  constexpr std::array allocations = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE"};
  return std::any_of(allocations.begin(), allocations.end(),
                     [](const char* variable) { return !slurm_value(variable).empty(); });
}

}  // namespace moe
