#pragma once

#include <string_view>
#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The planners that decide how micro-batches pass the stages (Planner::passes), sequential first.
std::vector<const Planner*> search_orders();
/// Reads "all", "usual" (sequential, one_f_one_b, two_batch), or names of these with commas between
/// them. Throws moe::InputError.
std::vector<const Planner*> parse_orders(std::string_view text);

}  // namespace tuner
