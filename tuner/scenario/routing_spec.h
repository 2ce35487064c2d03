#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "db/connection.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace tuner {

/// The routing of every MoE layer of `program` that a user asks for: "uniform"; "zipf:1.2" (expert
/// popularity ~ 1 / place^1.2, another shuffle in every layer, from `seed`); or the path of a file
/// that holds a Routing as JSON. Copies beyond a gate's capacity are dropped. Throws
/// moe::InputError saying what was expected: also where a file's layers, ranks or experts are not
/// those of the program, and where a gate that gives every expert as many rows as it has room for
/// (expert_choice, soft_moe) would not route so.
moe::Routing make_routing(const std::string& text, const moe::Program& program,
                          const moe::Groups& groups, std::uint64_t seed);

/// What travelled in one iteration of a stored run, in each of so many micro-batches. Loads that
/// were stored of all together, or of another number, are shared out evenly. Throws db::Error
/// (not_found) where it has no loads.
moe::Routing recorded_routing(const db::Connection& connection, std::int64_t run_id, int iteration,
                              int micro_batches);

}  // namespace tuner
