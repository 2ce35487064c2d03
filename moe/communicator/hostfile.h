#pragma once

#include <optional>
#include <string>

namespace moe {

/// The slots of all hosts of an mpirun hostfile: "node1 slots=2" a line, "#" begins a comment. A host
/// that stands there twice has the slots of both lines. None where a line does not say how many: mpirun
/// then counts the host's cores. Throws InputError where the file cannot be read, names no host or
/// gives them no slot, and, with the number of the line, where mpirun would read another host's name
/// in it than a person does.
std::optional<int> slots_of_hostfile(const std::string& path);

}  // namespace moe
