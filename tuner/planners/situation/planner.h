#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/planners/situation/planner_options.h"

namespace tuner {

/// Seconds of an iteration under a schedule, measured in a short real training. Infinite where the
/// training fails.
using MeasureSchedule = std::function<double(const moe::Schedule&)>;

struct PlanMemory;       // plan_memory.h
class PlanningProgress;  // planning_progress.h

/// The facts from which a planner decides.
struct Situation {
  const moe::Program& program;  ///< not scheduled; every schedule is applied to it
  const moe::Groups& groups;
  const moe::Routing& routing;
  const CostModel& costs;
  const Cluster& cluster;
  MeasureSchedule measure{};  ///< empty where nothing can be run: planners simulate instead
  /// The homes of experts when the plan comes into force, by layer; a layer that is absent has
  /// those of the Program. Moving experts to other homes costs time (placement/move_costs.h).
  moe::HomesByLayer homes_now = {};
  /// The routings of several iterations; `routing` is that of a typical one. A schedule is judged
  /// by its median iteration over all of them and over the slowdowns of the costs
  /// (judged_iterations()). Empty: `routing` is the only one that is known.
  std::span<const moe::Routing> routings = {};
  /// What was planned and simulated in this very situation; null: nothing is kept after a plan.
  PlanMemory* memory = nullptr;
  /// Says what is tried; null: plan_with and candidates_of make one.
  PlanningProgress* progress = nullptr;
};

/// The routings by which schedules are judged: Situation::routings, or `routing` alone.
inline std::span<const moe::Routing> routings_of(const Situation& situation) {
  return situation.routings.empty() ? std::span(&situation.routing, 1) : situation.routings;
}

/// A schedule that a study tries.
struct Candidate {
  moe::Schedule schedule;
  /// Tells it from the planner's others: {"forward_chunks": 4}. A planner that leaves it empty gets
  /// Planner::parameters.
  std::string parameters_json{};
  std::string planner{};  ///< a planner leaves it empty: the schedule's
};

/// How micro-batches pass the stages under the schedules of a planner of their order.
enum class Passes : std::uint8_t {
  undecided,           ///< the planner is not about that
  one_after_other,     ///< one is through all stages before the next begins
  filled_and_drained,  ///< stages wait at the begin for the first, at the end for the last
  bubbles_filled,      ///< stages may have other blocks, or work that waits for such times
  exchanges_hidden,    ///< rows of one travel while another computes
};

/// A planner decides and never edits a Program: moe::apply does that.
struct Planner {
  std::string_view name;
  std::string_view description;
  /// Its own choice. Null: the fastest of its candidates by simulation, the first of equal ones.
  moe::Schedule (*plan)(const Situation&, const PlannerOptions&) = nullptr;
  /// The closed form of the planner's paper, in seconds of an iteration under such a schedule. Null
  /// where there is none.
  double (*paper_seconds)(const Situation&, const moe::Schedule&) = nullptr;
  /// All schedules that a study tries for this planner, its own choice among them. Null: its own
  /// choice alone.
  std::vector<Candidate> (*candidates)(const Situation&, const PlannerOptions&) = nullptr;
  /// A JSON object that tells such a schedule from the planner's others. Null: nothing does.
  std::string (*parameters)(const moe::Schedule&) = nullptr;
  /// A line for a person about a schedule that it planned. Null: it has nothing to say.
  std::string (*remark)(const Situation&, const PlannerOptions&, const moe::Schedule&) = nullptr;
  std::vector<PlannerOption> options{};
  bool cuts_batch = false;  ///< may cut ops along the batch, so that costs of small ones matter
  bool offloads = false;    ///< may plan copies to the host's memory, so that their costs matter
  bool measures = false;    ///< chooses by Situation::measure where it can
  /// Of a planner that decides the order of micro-batches, and of `sequential`: `moe-tune search`
  /// tries each of these with every layout, and prunes by what it says.
  Passes passes = Passes::undecided;
  bool keeps_all = false;  ///< such an order: stages keep the activations of all micro-batches
  /// Deals with the memory of a rank in its own way, or decides nothing at all. A plan of any other
  /// planner that exceeds it is replaced by a lighter one with the same decisions, where that fits
  /// (within_memory.h).
  bool keeps_to_memory = false;
};

/// The planner's own schedule, within the memory of a rank where it can be. A refusal is an answer
/// and is passed on. Any other failure of the planner is a bug: it is thrown as std::logic_error
/// that names the planner.
moe::Schedule plan_with(const Planner& planner, const Situation& situation,
                        const PlannerOptions& options);

/// The parameters that tell a schedule of this planner from its others, with the options asked for.
std::string parameters_of(const Planner& planner, const PlannerOptions& options,
                          const moe::Schedule& schedule);

/// Planner::remark; "" where it has nothing to say.
std::string remark_of(const Planner& planner, const Situation& situation,
                      const PlannerOptions& options, const moe::Schedule& schedule);

/// The planner's candidates; the options that were asked for are among their parameters. Throws as
/// plan_with.
std::vector<Candidate> candidates_of(const Planner& planner, const Situation& situation,
                                     const PlannerOptions& options);

}  // namespace tuner
