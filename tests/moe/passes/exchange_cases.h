#pragma once

#include "moe/communicator/communicator.h"
#include "moe/passes/exchange.h"

/// Brute force for every host communicator: threads (exchange_test.cpp) and processes
/// (communicator_mpi_main.cpp).
namespace moe::cases {

/// Random routings (ranks that send nothing, an expert that gets all) through a dispatch and a
/// combine by this route, in `chunks` chunks: every row arrives where its expert, piece, source and
/// slot say, comes home to where it was, and the bytes that travel are those that the ops announce.
/// Runs on all ranks of `world`.
void check_route(Communicator& world, const Groups& groups, Route route, int ranks_per_group,
                 int chunks);

/// check_route for every route that the ranks of `world` can take, on one node and on several.
void check_routes(Communicator& world);

}  // namespace moe::cases
