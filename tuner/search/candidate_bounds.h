#pragma once

#include <string>
#include <vector>

#include "tuner/search/candidate.h"

/// What candidates cannot beat, by the pieces of their setups (setup_bound.h).
namespace tuner {

/// One for each setup with each of the orders that it has for itself, whole and sharded. Of a layout
/// states are the same, and where larger sizes are no slower, the costs of its fewest micro-batches
/// say what others cannot beat. What does not fit the memory of a rank is left out. Says on stderr how far it is.
std::vector<SearchCandidate> bounded_candidates(SearchedSetups& searched,
                                                const std::vector<const Planner*>& orders);

/// Of a candidate that is known by its layout: bounds it by the pieces of its own setup, or says why
/// it is left out.
void bound_by_own_pieces(SearchedSetups& searched, SearchCandidate& one);

}  // namespace tuner
