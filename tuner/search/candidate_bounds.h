#pragma once

#include <string>
#include <vector>

#include "tuner/search/candidate.h"

/// What candidates cannot beat, by the pieces of their setups (setup_bound.h).
namespace tuner {

/// One for each setup with each of the orders that it has for itself, whole and sharded. Of a layout
/// states are the same, and where larger sizes are no slower, the costs of its fewest micro-batches
/// say what others cannot beat. Says on stderr how far it is.
std::vector<SearchCandidate> bounded_candidates(SearchedSetups& searched,
                                                const std::vector<const Planner*>& orders);

/// Works out the costs of the setup's own pieces, unless they are known. "" where there are some,
/// else the refusal without its numbers.
std::string refusal_of_costs(SearchedSetups& searched, std::size_t setup);

/// The bound of the candidate by its setup's own pieces, which are known.
double bound_of_pieces(const SearchedSetups& searched, const SearchCandidate& one);

}  // namespace tuner
