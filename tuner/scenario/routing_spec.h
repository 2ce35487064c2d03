#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/connection.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace tuner {

/// The routing of every MoE layer of `program` that a person asks for, of one iteration or of
/// several in their order:
///   - "uniform";
///   - "zipf:1.2": expert popularity ~ 1 / place^1.2, shuffled anew in every layer, from `seed`;
///   - "drift:1.2:0.05:8": the same of 8 iterations in which experts change places (drift.h);
///   - a file that holds a Routing as JSON;
///   - a folder with such a file, NAME.json, for each iteration, by the numbers in their names.
/// Copies beyond a gate's capacity are dropped. Throws moe::InputError
/// with the expected form. It is also thrown where the layers, ranks or experts of a file are not
/// the program's, and for gates that always give every expert as many rows as it has room for
/// (expert_choice, soft_moe).
std::vector<moe::Routing> make_routings(const std::string& text, const moe::Program& program,
                                        const moe::Groups& groups, std::uint64_t seed);
/// The first of them.
moe::Routing make_routing(const std::string& text, const moe::Program& program,
                          const moe::Groups& groups, std::uint64_t seed);

/// The rows of one iteration of a stored run, in each of its `micro_batches` micro-batches. Loads
/// that were stored for all micro-batches together, or for another number, are shared out evenly.
/// Throws db::Error (not_found) where the iteration has no loads.
moe::Routing recorded_routing(const db::Connection& connection, std::int64_t run_id, int iteration,
                              int micro_batches);

/// The same in the micro-batches of a program. Throws db::Error (invalid) also where the layers,
/// ranks or experts are not the program's.
moe::Routing recorded_routing(const db::Connection& connection, std::int64_t run_id, int iteration,
                              const moe::Program& program, const moe::Groups& groups);

}  // namespace tuner
