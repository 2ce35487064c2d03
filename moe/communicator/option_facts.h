#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "moe/communicator/same_inputs.h"

namespace CLI {
class App;
}

namespace moe {

/// How the options of a program may differ between ranks.
struct OptionsThatDiffer {
  std::vector<std::string_view> freely{};    ///< "--threads"
  std::vector<std::string_view> in_value{};  ///< all ranks have them or none, as rank 0's "--db"
};
/// The build of `program` and its options, as the command line has them.
std::vector<InputFact> facts_of_command_line(const std::string& program, const CLI::App& app,
                                             const OptionsThatDiffer& may_differ);

/// The key of the build among them.
inline constexpr const char* kBuildKey = "the build";

}  // namespace moe
