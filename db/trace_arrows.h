#pragma once

#include <cstdint>
#include <vector>

#include "db/connection.h"
#include "db/trace_tracks.h"

namespace db {

/// Leads from the span that a collective waited for to one that waited.
struct Arrow {
  const Track* from = nullptr;
  const Track* to = nullptr;
  std::int64_t at_ns = 0;  ///< when the last rank came; both spans contain it
  const TimelineOp* op = nullptr;
};

/// An op that may start on a rank only when another has ended there.
struct Dependency {
  int op = 0;
  int before = 0;
};

/// Those of a timeline, from op_edge.
std::vector<Dependency> load_dependencies(const Connection& connection, std::int64_t timeline_id);

/// Leads from the end of a span to the start of one that waited for it, on the same rank and on
/// another track: what follows on its own track needs no arrow.
struct DependencyArrow {
  const Track* from = nullptr;
  const Track* to = nullptr;
  std::int64_t from_ns = 0;  ///< in the first span, just before its end
  std::int64_t to_ns = 0;    ///< the start of the second
};
std::vector<DependencyArrow> dependency_arrows(const TimelineTracks& tracks,
                                               const std::vector<Dependency>& dependencies);

/// The arrows of all collectives whose every rank has one span, which all overlap somewhere.
std::vector<Arrow> rendezvous_arrows(const TimelineTracks& tracks);

}  // namespace db
