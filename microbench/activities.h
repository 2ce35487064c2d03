#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "microbench/bench.h"
#include "microbench/gemm.h"

namespace microbench {

/// Work that a rank can do while it does other work: a case with buffers, a stream and
/// communicators of its own.
struct Activity {
  std::string name;
  bool collective = false;
  std::unique_ptr<moe::Communicator> world, measured;  ///< for a collective: its group
  std::unique_ptr<Bench> bench;  ///< refers to the communicators; the case refers to it
  Case subject;
  double call_s = 0;  ///< the time of one call alone, on the slowest rank
};

/// The names of all activities: "computation" (a linear layer), "memory_bound" (an addition of two
/// matrices, which memory limits), "inter_node" and "intra_node" (all-to-all between ranks of
/// different nodes, and of one node), "copy" (as activations are offloaded).
const std::vector<std::string>& activity_names();

struct ActivitySizes {
  std::int64_t bytes = 4 << 20;  ///< copied, or sent by a rank, or of a matrix that is added
  LinearSizes linear;
};

/// The activities of `names` (of all, when empty) that these ranks can do; `node` is by rank.
/// Communication inside nodes needs a node of at least two ranks. Communication between nodes needs
/// nodes with the same number of ranks; each rank exchanges with the ranks at its place in other
/// nodes. Rank 0 says why an activity is left out.
std::vector<std::string> possible_activities(const Bench& bench,
                                             const std::vector<std::string>& names,
                                             const std::vector<int>& node);

/// Makes these activities, whose buffers adjoin in the arena; nothing else may be placed there
/// while they live. Collective over bench.world and bench.measured.
std::vector<std::unique_ptr<Activity>> make_activities(const Bench& bench,
                                                       const std::vector<std::string>& possible,
                                                       const ActivitySizes& sizes,
                                                       const std::vector<int>& node);

}  // namespace microbench
