#pragma once

#include "moe/model/model.h"
#include "moe/program/program.h"

namespace moe {

/// Forward, backward and update of one iteration, as every rank of `groups` runs it, with every op
/// on the compute stream (exchanges of counts on the host's): the Program that all schedules start
/// from. Throws as check().
Program build_iteration(const Model& model, const Groups& groups, int rank);

/// The forward part alone, on the same tensors: for held-out loss.
Program forward_only(Program program);

}  // namespace moe
