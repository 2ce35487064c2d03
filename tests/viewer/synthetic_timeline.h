#pragma once

#include <string>
#include <vector>

#include "db/records.h"

/// Timelines of one MoE training step that never ran, for tests of the viewer: the shapes of real
/// ones (streams that wait for each other, collectives that start together, uneven experts) from a
/// few lines of arithmetic.
namespace viewer {

struct StepShape {
  int ranks = 4;
  int layers = 4;  ///< every second one is a MoE layer
  int forward_chunks = 1;
  int backward_chunks = 1;
  bool intra_node = false;        ///< dispatch and combine have a stage inside the node
  double all_to_all_scale = 1.0;  ///< 1: as long as the experts' forward computation
  double jitter = 0;              ///< relative spread of durations; 0 for a predicted step
  unsigned seed = 1;
};

struct SyntheticStep {
  std::vector<db::TimelineOp> ops;
  std::vector<db::Span> spans;
  std::vector<db::OpEdge> edges;
  std::vector<db::RankGroup> groups;
  double duration_s = 0;
};

SyntheticStep make_step(const StepShape& shape);

}  // namespace viewer
