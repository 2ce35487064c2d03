#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "moe/program/program.h"

/// Texts for what would be legal instead of a refused decision (Refusal::way_out).
namespace moe {

/// Ops that decisions may make a Program of at most: a plan of so many needs some 7 GiB.
inline constexpr std::size_t kMostOps = std::size_t{1} << 22;
/// The reason and the way out where they would make more.
inline constexpr const char* kTooManyOps = "it makes more than 4194304 ops";
inline constexpr const char* kFewerOps = "expected fewer chunks, parts or steps";

/// "expected one of a, b, c": at most eight of them. `otherwise` where there are none.
std::string expected_one_of(std::span<const std::string> names, std::string otherwise);

/// "expected one of layers 1, 3": those of the ops that are `wanted`, -1 being outside the blocks.
/// `otherwise` where no op is.
std::string expected_layer(const Program& program, const std::function<bool(const Op&)>& wanted,
                           std::string otherwise);
/// The same for the MoE layers of the Program.
std::string expected_moe_layer(const Program& program);
/// The same for the layers whose gradients are all-reduced.
std::string expected_reduced_layer(const Program& program);

}  // namespace moe
