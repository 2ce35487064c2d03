#pragma once

#include <optional>
#include <string>

namespace moe {

/// All bytes of stdin, to its end. Throws InputError where it cannot be read or has more than a text
/// file may have (read_file.h), TimeLimit where nothing comes for time_limit_s and it does not end.
std::string read_standard_input(std::optional<double> time_limit_s = {});

/// From now on stdin is empty, and whoever still writes to it is told so.
void leave_standard_input();

}  // namespace moe
