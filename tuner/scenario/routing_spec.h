#pragma once

#include <cstdint>
#include <functional>
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
///   - a file that holds a routing as JSON (routing_of_file.h);
///   - a folder with such a file, NAME.json, for each iteration, by the numbers in their names.
/// Copies beyond a gate's capacity are dropped. `say` is told what was made of the counts of a
/// file. Throws moe::InputError with the expected form. It is also thrown where the layers, ranks,
/// experts or copies of a file are not the program's, and for gates that always give every expert
/// as many rows as it has room for (expert_choice, soft_moe).
using SayRouting = std::function<void(const std::string&)>;
std::vector<moe::Routing> make_routings(
    const std::string& text, const moe::Program& program, const moe::Groups& groups,
    std::uint64_t seed, const SayRouting& say = [](const std::string&) {});
/// Throws moe::InputError where no program could have such a routing: as make_routings, for words
/// that are wrong and for files that are not there.
void check_routing(const std::string& text);
/// The first of them.
moe::Routing make_routing(const std::string& text, const moe::Program& program,
                          const moe::Groups& groups, std::uint64_t seed);

/// The rows of one iteration of a stored run that trained `program` (its iteration without
/// decisions), as they travelled, in each of its micro-batches. Loads that were stored for all
/// micro-batches together, or for another number, are shared out evenly. Throws db::Error
/// (not_found) where the iteration has no loads, and (invalid) where they are not those of the
/// Program's layers, ranks and experts, or lack copies.
moe::Routing recorded_routing(const db::Connection& connection, std::int64_t run_id, int iteration,
                              const moe::Program& program, const moe::Groups& groups);

}  // namespace tuner
