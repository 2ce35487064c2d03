#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "moe/program/program.h"

/// Which layouts of a model are profiled, so that costs of them serve all.
namespace tuner {

/// The kinds of ops that a Program's costs are made of: "linear", and of collectives with the link
/// that they cross, "all_reduce/inter_node". Those of a group of one rank do not count.
std::set<std::string> kinds_to_measure(const moe::Program& program);

/// The place of the layout that is profiled in whole: the first whose ranks exchange rows of experts,
/// since it is these exchanges that profile schedules cut and overlap; else the first. There is at
/// least one, and none of `programs` is null.
std::size_t profiled_in_whole(std::span<const moe::Program* const> programs);

/// The place of the layout that has most kinds which are not `known` yet, the first of equals; none
/// where all are known.
std::optional<std::size_t> next_to_profile(std::span<const std::set<std::string>> kinds,
                                           const std::set<std::string>& known);

}  // namespace tuner
