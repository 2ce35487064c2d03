#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/scenario.h"
#include "tuner/search/fewer_micro_batches.h"
#include "tuner/search/plan_found.h"
#include "tuner/search/search_orders.h"
#include "tuner/search/setup_space.h"

namespace tuner {

struct MeasuredCosts;

/// What a search tries.
struct SearchOptions {
  std::optional<LayoutRange> layouts;             ///< none: usual_layouts() of the cluster
  std::optional<std::vector<int>> micro_batches;  ///< none: all
  std::vector<const Planner*> orders;             ///< search_orders()
  /// Plan the best setups; none: the orders alone.
  std::vector<PlannerRequest> planners;
  std::int64_t memory_bytes = 0;  ///< of a rank; 0: what the cluster says
  int top = 8;                    ///< setups that are planned and told
  /// Larger Programs are predicted from fewer micro-batches.
  std::size_t most_whole_ops = kMostWholeOps;
  /// A row after the first may take longer by this share than the fastest setup that is left.
  double later_rows_within = 0.05;
};

struct SearchResult {
  std::vector<FoundSetup> found;  ///< the fastest first
  int layouts = 0;                ///< that the model takes
  std::size_t setups = 0;         ///< of these layouts
  std::size_t candidates = 0;     ///< setups with each order, with and without shard_optimizer
  std::size_t simulated = 0;
  Reasons refused;  ///< layouts, SetupSpace::refused
  Reasons pruned;   ///< candidates
  std::vector<std::string> remarks;
};

/// Searches all setups of `ranks` ranks, with every order of micro-batches, with and without
/// shard_optimizer, the first blocks of stages restored where memory asks for it (within_memory.h).
///
/// Best first. Each candidate has a time that it cannot beat: first bound_s() of its pieces, then
/// lower_bound() of its whole Program where that is not too large, then its simulated time. The
/// candidate of least time is looked at more closely, again and again, until it is one that was
/// simulated. So no candidate is faster than the first that is taken, and none that is left over is
/// faster than a later one by more than `later_rows_within`. What does not fit the memory of a rank is
/// left out: by its states, by its micro-batches under way, or by its plan.
///
/// All are of different layouts. The first half of `top` are the fastest, the others the fastest of
/// further pairs of tp and pp. Each is planned by `planners`, and the fastest schedule counts
/// (plan_found.h).
///
/// `scenario` names routing and settings; its ranks and layout are not read. Throws moe::Refusal
/// where nothing is left, with the reasons.
SearchResult search_setups(const ScenarioOptions& scenario, const moe::Model& model,
                           const MeasuredCosts& costs, int ranks, const SearchOptions& options);

}  // namespace tuner
