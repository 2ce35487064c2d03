#pragma once

#include <string>

#include "db/connection.h"
#include "db/records.h"

namespace db {

/// Writes a trace file per rank of a timeline into `folder`, which is made where it is not there,
/// as PyTorch's Kineto writes them, so that tools which compare ranks (HTA) read them.
///
/// What is computed or communicated is a kernel on the GPU stream of its track, copies are memory
/// copies, the host's ops are on the CPU. Names of collectives begin with "ncclDevKernel_", by
/// which such tools know them, whatever carried them; their args have the message sizes in bytes
/// (dtype "Byte"), the process group where all ranks take part, and the split sizes where the loads
/// of the iteration are stored, for exchanges that are not cut into chunks. When a kernel was
/// launched is not recorded: launches stand at the starts of their kernels. Throws Error or
/// OutputError.
void export_rank_traces(const Connection& connection, const TimelineInfo& info,
                        const std::string& folder);

}  // namespace db
