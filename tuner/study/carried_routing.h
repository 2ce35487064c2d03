#pragma once

#include "moe/program/program.h"
#include "moe/rows/routing.h"

namespace tuner {

/// A routing that was recorded in one layout, for the Program of the same model in another: the same
/// rows from each rank where a stage has as many ranks, micro-batches and copies; else every rank and
/// micro-batch chooses experts in the proportions of all rows of a layer together. How far ranks and
/// micro-batches differ is lost then. Throws std::out_of_range where a layer is missing.
moe::Routing carried_routing(const moe::Routing& recorded, const moe::Program& to);

}  // namespace tuner
