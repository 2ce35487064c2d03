#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "microbench/bench.h"
#include "microbench/gemm.h"

namespace microbench {

/// What a rank may do beside something else: a case of its own buffers, stream and communicators.
struct Activity {
  std::string name;
  bool collective = false;
  std::unique_ptr<moe::Communicator> world, measured;  ///< of a collective's group
  std::unique_ptr<Bench> bench;                        ///< refers to these; the case refers to it
  Case subject;
  double call_s = 0;  ///< of one call with nothing beside it, on the slowest rank
};

/// Names of all there are: "computation" (a linear layer), "memory_bound" (an addition of two
/// matrices, computation that memory limits), "inter_node" and "intra_node" (all-to-all among ranks
/// of different nodes and of one), "copy" (what an offload does).
const std::vector<std::string>& activity_names();

struct ActivitySizes {
  std::int64_t bytes = 4 << 20;  ///< of a copy, of what a rank sends, of a matrix to add
  LinearSizes linear;
};

/// Those of `names` (of all when empty) that these ranks have, `node` by rank: a node of at least two
/// ranks has communication inside it; nodes of equally many ranks have communication between them, of
/// each rank with those at its place in other nodes. Why one is left out is said on rank 0.
std::vector<std::string> possible_activities(const Bench& bench,
                                             const std::vector<std::string>& names,
                                             const std::vector<int>& node);

/// These, whose buffers lie in the arena beside each other: nothing else may be placed there while
/// they live. Collective over bench.world and bench.measured.
std::vector<std::unique_ptr<Activity>> make_activities(const Bench& bench,
                                                       const std::vector<std::string>& possible,
                                                       const ActivitySizes& sizes,
                                                       const std::vector<int>& node);

}  // namespace microbench
