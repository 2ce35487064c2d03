#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/routing.h"

/// Which layouts of a model are profiled, so that costs of them serve all.
namespace tuner {

/// The kinds of ops that a Program's costs are made of, each with the most units of an op: "linear"
/// with FLOPs or bytes, and of collectives with the link that they cross, "all_reduce/inter_node", the
/// bytes of the first rank. Those of a group of one rank do not count.
using Kinds = std::map<std::string, double>;
Kinds kinds_to_measure(const moe::Program& program, const moe::Routing& routing);
/// Those that are not `known`, or have so many more units that their fits would be extrapolated.
std::vector<std::string> lacking_kinds(const Kinds& kinds, const Kinds& known);
/// Adds the kinds of a layout that was profiled.
void add_kinds(const Kinds& profiled, Kinds& known);

/// The place of the layout that is profiled in whole: the first whose ranks exchange rows of experts,
/// since it is these exchanges that profile schedules cut and overlap; else the first. There is at
/// least one, and none of `programs` is null.
std::size_t profiled_in_whole(std::span<const moe::Program* const> programs);

/// The place of the layout that has most lacking kinds; of equals the one whose units exceed the known
/// ones most, then the first. None where nothing lacks.
std::optional<std::size_t> next_to_profile(std::span<const Kinds> kinds, const Kinds& known);

}  // namespace tuner
