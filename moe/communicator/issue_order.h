#pragma once

#include <vector>

#include "moe/program/program.h"

namespace moe {

/// For each op the latest earlier op whose communication must be enqueued first, -1 where there is
/// none.
///
/// NCCL's kernels wait for their peers on the device. Where communicators work on several streams
/// at once, two ranks that start them in different orders can wait for each other for ever. That
/// cannot happen if every rank enqueues them in one order, the order of the Program
/// (NCCL_LAUNCH_ORDER_IMPLICIT then makes kernels start in it too). So each op that a communicator
/// executes on a device stream follows the one before it on any device stream. It waits until that
/// one is enqueued, not until it is done, so they overlap. Ops of the host stream go through host
/// memory and wait for none.
std::vector<int> issued_before(const Program& program);

}  // namespace moe
