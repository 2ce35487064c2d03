#pragma once

#include <string>
#include <vector>

#include "tuner/planners/lancet/forward_ranges.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kMostParts{"most_parts", 2, 64,
                                          "most parts that a range of forward is cut into, "
                                          "at least 2 [--most-chunks]"};

/// The passes of Lancet that a plan goes through.
struct LancetPasses {
  bool ranges = true;            ///< cuts forward ops along the batch                    [Lancet 5]
  bool weight_gradients = true;  ///< puts weight gradients after exchanges of backward   [Lancet 4]
};

/// Lancet: exchanges have a stream of their own. In forward they run beside dense ops of other
/// parts of the batch, in backward beside weight gradients. Ranges come from the dynamic program
/// over five groups of ops between neighbouring MoE layers, in up to 8 parts, as far as partition
/// axes allow. The cost of a part follows from the costs of whole and halved ops, t = a + b /
/// parts. A layer whose gate needs the whole batch is cut after the gate, or along capacity. Ranges
/// that `apply` refuses are left out.
moe::Schedule lancet_schedule(const Situation& situation, LancetPasses passes,
                              int most_parts = kUsualMostParts);

moe::Schedule plan_lancet(const Situation& situation, const PlannerOptions& options);

/// Lancet's own cost of an iteration: an op starts when its dependencies and the op of its kind
/// before it have ended [Lancet 5.3, over the whole iteration]. There are two kinds, which are
/// launched apart: the ops of the compute stream, and all others.
double lancet_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

/// Candidates with both passes, and with each alone (Lancet's Fig. 16).
std::vector<Candidate> lancet_candidates(const Situation& situation, const PlannerOptions& options);

/// The cuts of its schedule, the reasons why layers are not cut along the batch or over their
/// gates, and the cuts that were refused.
std::string lancet_remark(const Situation& situation, const PlannerOptions& options,
                          const moe::Schedule& schedule);

}  // namespace tuner
