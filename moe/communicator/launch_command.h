#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/console/launcher.h"

/// How a program starts ranks: by mpirun, or another launcher.
namespace moe {

/// A variable of the environment, and what it is where the user has not set it.
struct DefaultVariable {
  const char* name;
  const char* value;
};
void set_unless_set(std::span<const DefaultVariable> variables);

/// Whether a program starts ranks, outside an MPI job.
bool starts_ranks(std::optional<int> ranks, const db::options::Launcher& launcher);

/// Sets what launch_command's process reads in its environment, where the user has not. Throws
/// InputError where mpirun or the hostfile is not there.
void prepare_launch(int ranks, const db::options::Launcher& launcher);

/// The command that starts them; `argv` is the program and its arguments. A program without a folder
/// in its name is named by the path that PATH gives it here.
std::vector<std::string> launch_command(int ranks, const db::options::Launcher& launcher,
                                        char** argv);

}  // namespace moe
