#pragma once

#include "moe/program/program.h"
#include "moe/rows/routing.h"

namespace tuner {

/// A routing that was recorded in one layout (`from`), for the same model in another. Where a rank of
/// `to` has the tokens of one or several neighbours of `from`, in as many micro-batches, it has their
/// rows. Else every rank and micro-batch chooses experts in the proportions of all rows of a layer
/// together: how far ranks and micro-batches differ is lost then. Throws std::out_of_range where a
/// layer is missing.
moe::Routing carried_routing(const moe::Routing& recorded, const moe::Program& from,
                             const moe::Program& to);

}  // namespace tuner
