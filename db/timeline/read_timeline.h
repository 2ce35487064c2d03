#pragma once

#include "db/connection.h"
#include "db/timeline/memory_table.h"
#include "db/timeline/timeline.h"

namespace db {

/// A stored timeline with everything that is asked of it. Throws Error.
Timeline read_timeline(const Connection&, const TimelineInfo& info);

/// The memory of a timeline's ranks; empty where the database does not say. Of a measured one also
/// what its run touched. Throws Error.
MemoryTable read_memory(const Connection&, const TimelineInfo& info);

}  // namespace db
