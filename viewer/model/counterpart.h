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

/// The op that `position` belongs to, with all its chunks. Chunks of an op have the same name,
/// kind, layer and phase. Where several ops of a rank share these, their order in time tells them
/// apart.
WholeOp whole_op(const Timeline& timeline, SpanPosition position);

/// The same op in `other`, on the same rank. None where `other` does not have it.
std::optional<WholeOp> counterpart(const Timeline& timeline, SpanPosition position,
                                   const Timeline& other);

}  // namespace viewer
