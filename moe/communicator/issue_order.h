#pragma once

#include <vector>

#include "moe/program/program.h"

namespace moe {

/// For each op the latest earlier one whose communication must have been enqueued before that of
/// this op may be, -1 where there is none.
///
/// NCCL's kernels wait for their peers on the device. When communicators work on several streams at
/// once, two ranks that start them in different order can wait for each other for ever; nothing of
/// the kind happens where every rank enqueues them in one order, the order of the Program
/// (NCCL_LAUNCH_ORDER_IMPLICIT then makes kernels start in it too). So an op of a device stream
/// that a communicator executes comes after the one before it on any device stream. Enqueued, not
/// done: they overlap. Ops of the host stream travel through host memory and wait for nobody here.
std::vector<int> issued_before(const Program& program);

}  // namespace moe
