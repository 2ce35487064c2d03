#pragma once

#include <vector>

#include "moe/backend/product_ways.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"

namespace moe {

/// The matrix products of linear layers and of experts on one rank, each once, ascending; those
/// within attention are left out. `program`: of all stages, as it is scheduled. Experts have as many
/// rows as where tokens choose them evenly. Where rows follow the routing, products of half and of
/// twice as many rows are there too, so that way_of() finds one for what comes.
std::vector<Product> products_of(const Program& program, const Groups& groups, int rank);

}  // namespace moe
