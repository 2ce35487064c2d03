#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/scenario.h"
#include "tuner/search/setup.h"
#include "tuner/search/setup_memory.h"
#include "tuner/search/setup_space.h"

namespace tuner {

struct MeasuredCosts;

/// What a search tries.
struct SearchOptions {
  LayoutRange layouts;
  std::optional<std::vector<int>> micro_batches;  ///< none: all
  std::vector<const Planner*> orders;             ///< search_orders()
  /// Plan the best setups; none: the orders alone.
  std::vector<PlannerRequest> planners;
  std::int64_t memory_bytes = 0;  ///< of a rank; 0: what the cluster says
  int top = 8;                    ///< setups that are planned and told
};

/// The planners that decide how micro-batches pass the stages (Planner::passes), sequential first.
std::vector<const Planner*> search_orders();
/// Reads "all", "usual" (sequential, one_f_one_b, two_batch), or names of these with commas between
/// them. Throws moe::InputError.
std::vector<const Planner*> parse_orders(std::string_view text);

/// A setup with the fastest schedule that was found for it.
struct FoundSetup {
  TrainingSetup setup;
  moe::Schedule schedule;
  std::string order;       ///< the planner of micro-batches' order that it was found with
  double ordered_s = 0;    ///< predicted with this order, before the planners
  double predicted_s = 0;  ///< of an iteration with the schedule
  /// False where computation alone takes longer than the best setup, or the Program is so large that
  /// planners would take minutes.
  bool was_planned = false;
  double lower_bound_s = 0;
  std::string bounded_by;  ///< LowerBound::where
  PeakParts peak;
  std::int64_t tokens = 0;  ///< of an iteration
  /// Fewer than the setup's where the Program of all would be too large (fewer_micro_batches.h):
  /// times are drawn on, and the peak is that of so many.
  int simulated_micro_batches = 0;
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
/// shard_optimizer, the first blocks restored where memory asks for it (within_memory.h).
///
/// Best first. Each candidate has a time that it cannot beat: first bound_s() of its pieces, then
/// lower_bound() of its whole Program, then its simulated time. The candidate of least time is
/// looked at more closely, again and again, until it is one that was simulated. So the candidates
/// that are left over cannot be faster than those that were taken. What does not fit the memory of
/// a rank is left out, by its states, by one micro-batch of it, or by its plan.
///
/// The first half of `top` are the fastest setups. The others are the fastest of further pairs of tp
/// and pp. Each is planned by `planners`, and the fastest schedule counts. Of Programs of over 2,000
/// ops, joint goes on from the order of micro-batches (plan_joint_from).
///
/// `scenario` names routing and settings; its ranks and layout are not read. Throws moe::Refusal
/// where nothing is left, with the reasons.
SearchResult search_setups(const ScenarioOptions& scenario, const moe::Model& model,
                           const MeasuredCosts& costs, int ranks, const SearchOptions& options);

}  // namespace tuner
