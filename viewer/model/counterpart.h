#pragma once

#include <optional>
#include <vector>

#include "viewer/model/timeline.h"

/// The same op in two timelines, however each of them cuts it into chunks.
namespace viewer {

/// One op on one rank with all its chunks.
struct WholeOp {
  std::vector<SpanPosition> spans;  ///< one per chunk, by chunk
  double duration_s = 0;            ///< sum over the chunks
};

/// The op of which `position` is one chunk, or all. Chunks have the same name, kind, layer and
/// phase; where several ops of a rank have, they are told apart by their order in time.
WholeOp whole_op(const Timeline& timeline, SpanPosition position);

/// whole_op(timeline, position) as `other` has it on the same rank; none where it has not.
std::optional<WholeOp> counterpart(const Timeline& timeline, SpanPosition position,
                                   const Timeline& other);

}  // namespace viewer
