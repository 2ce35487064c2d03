#pragma once

#include <functional>
#include <string>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/scenario/gated_layers.h"

namespace tuner {

/// The routing that a file holds (moe/rows/routing_file.h), for the layers of a Program in its
/// order: as it travelled where the file says so and has the Program's capacity, else as gates
/// asked for (fit_capacity() makes of it what travels). Copies must be those of the Program: each
/// rank asks for so many of each of its tokens. Counts of any total are scaled to them, the same
/// from every rank, which is said; so are layers that the Program does not have. Throws
/// moe::InputError with the file, the layer, what it asks for and what was expected.
moe::Routing routing_of_file(const std::string& path, const moe::Program& program,
                             const std::vector<GatedLayer>& layers, const moe::Groups& groups,
                             const std::function<void(const std::string&)>& say);

/// Whether the layer's rows ask for just the copies of its gate, times `micro_batches` where they
/// are of so many together. "" where they do; else which rank asks for how many.
std::string other_copies(const std::vector<std::vector<std::int64_t>>& asked,
                         const GatedLayer& layer, int micro_batches = 1);

/// A routing for `micro_batches`: the same where it has as many, else that of the whole iteration
/// shared among them.
moe::Routing of_micro_batches(moe::Routing routing, int micro_batches);
/// How many a routing has.
int micro_batches_of(const moe::Routing& routing);

}  // namespace tuner
