#pragma once

#include <cstdint>
#include <vector>

#include "db/timeline/span_index.h"

namespace db {

/// Leads from a moment of a span to one of another, which waited for it.
struct TraceArrow {
  SpanPosition from, to;
  std::int64_t from_ns = 0, to_ns = 0;
};

/// From the end of a span to the start of one that waited for it, on the same rank and on another
/// lane: what follows on its own lane needs no arrow.
std::vector<TraceArrow> dependency_arrows(const Timeline& timeline, const SpanIndex& index);

/// From the last rank that came to a collective to those that waited for it, where all parts
/// overlap somewhere. Empty where neither the groups of ranks are known nor `all_together` says
/// that the ranks of every collective are all ranks.
std::vector<TraceArrow> rendezvous_arrows(const Timeline& timeline, const SpanIndex& index,
                                          bool all_together);

}  // namespace db
