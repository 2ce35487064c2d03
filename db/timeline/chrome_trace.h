#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "db/connection.h"

namespace db {

/// Writes timelines as Chrome trace-event JSON, which Perfetto and chrome://tracing open.
///
/// A rank is a process: pid = rank for the first timeline, and for each further one (the predicted
/// one beside the measured one) from the next thousand on. A stream is a thread; `ts` and `dur` are
/// microseconds with three decimals; op, layer, chunk, phase, bytes and FLOPs are in `args`. Each
/// rank has counters: the bytes of its communications under way, whether it communicates while it
/// computes nothing, and the memory that its tensors occupy where the database has it. Arrows lead
/// along dependencies from one stream to another, and from the last rank that came to a collective
/// to those that waited for it, where the database has what ops wait for and which ranks take part.
///
/// `path` is that of an OutputFile, which must not be the database. Throws Error or OutputError.
void export_trace(const Connection& connection, std::span<const std::int64_t> timeline_ids,
                  const std::string& path);

}  // namespace db
