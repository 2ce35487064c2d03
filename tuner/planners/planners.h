#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "moe/train/planning.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"

namespace tuner {

/// Seconds of an iteration under a schedule for the Situation's Program, of a real training of a few iterations; infinite
/// where that fails.
using MicroProfile = std::function<double(const moe::Schedule&)>;

/// What a planner decides from. The Program is the one that all schedules start from.
struct Situation {
  const moe::Program& program;
  const moe::Groups& groups;
  const moe::Routing& routing;
  const CostModel& costs;
  const Cluster& cluster;
  MicroProfile micro_profile{};  ///< empty where nothing is run, and planners simulate instead
  /// Where experts are as the plan begins to rule, of layers that are absent where the Program says: bringing them to other
  /// homes costs time (move_costs.h).
  moe::HomesByLayer homes_now = {};
};

/// What a user may ask of a planner; 0 = the planner's own choice or default.
struct PlannerOptions {
  int degree = 0;       ///< chunks, for planners with a fixed degree
  int most_chunks = 8;  ///< for planners that search
  /// That the plan will rule, for planners that move experts to other homes: what that costs is paid once. 0 = not known,
  /// which is as good as for ever.
  int iterations = 0;
};

/// A schedule that a study tries, with what distinguishes it: {"forward_chunks": 4, ...}.
struct Candidate {
  std::string planner;
  std::string parameters_json;
  moe::Schedule schedule;
};

/// One planner. Planners decide, they never edit a Program (moe::apply does).
struct Planner {
  std::string_view name;
  std::string_view description;
  moe::Schedule (*plan)(const Situation&, const PlannerOptions&);
  /// The closed form of the planner's paper for a schedule of this kind.
  double (*paper_seconds)(const Situation&, const moe::Schedule&);
  /// All that a study should try in this planner's name, its own choice included.
  std::vector<Candidate> (*candidates)(const Situation&, const PlannerOptions&);
  bool takes_degree = false;  ///< "NAME:4"
  /// A line for a person beside a schedule that it planned; null where it has nothing to say.
  std::string (*remark)(const Situation&, const PlannerOptions&, const moe::Schedule&) = nullptr;
  bool offloads =
      false;  ///< plans copies to the host's memory and back, so that their costs matter
  bool profiles = false;  ///< chooses by Situation::micro_profile where there is one
};

/// Every planner there is, baselines first.
const std::vector<Planner>& planners();

/// Throws moe::InputError naming the planners there are.
const Planner& planner_named(std::string_view name);

/// A planner with options as a user writes it: "pipemoe", "tutel", "tutel:4" (fixed degree).
struct PlannerRequest {
  const Planner* planner = nullptr;
  PlannerOptions options;
};
/// Throws moe::InputError for another name, and for a degree that is none.
PlannerRequest parse_planner(std::string_view text);
/// Comma-separated.
std::vector<PlannerRequest> parse_planners(std::string_view text);

/// What moe-train needs to plan by itself; strings as on moe-tune's command line.
struct PlanRequest {
  std::string planner;   ///< "pipemoe", "tutel:4"
  std::string model;     ///< name or file
  std::string cluster;   ///< name, file, or "measured"
  std::string database;  ///< for "measured"
  int ranks = 1;
  std::string layout;  ///< moe::parse_layout; "" = all experts over all ranks
  int iterations = 0;  ///< PlannerOptions::iterations
  /// Of a rank's arena, 0 = what the cluster says: for planners that keep to it. A plan of any other that needs more as
  /// routing is now is not returned while another rules, which goes on; `say` hears of it, a line for a person.
  std::int64_t memory_limit_bytes = 0;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};
/// What a plan inside training goes from; the first one from nothing but even routing.
struct TrainingSoFar {
  const moe::Routing* routing = nullptr;  ///< of the iteration just seen
  const moe::Schedule* ruling = nullptr;  ///< what ruled it
  MicroProfile micro_profile{};           ///< Situation::micro_profile
};
using PlanInTraining = std::function<moe::Schedule(const TrainingSoFar&)>;

/// Loads costs and cluster once. Throws as load_scenario (commands/scenario.h) and parse_planner.
PlanInTraining plan_in_training(const PlanRequest& request);

/// Plans once, from what the first iteration routes, by micro-profiles that training itself runs (profiled_plan.h).
struct PlanByProfiles {
  moe::Replan replan;
  std::function<bool()> has_chosen;
  std::function<int()> profiles;  ///< asked for so far
};
/// Each of `iterations`; `chosen` hears of the iteration behind which the plan stands.
PlanByProfiles plan_by_profiles(PlanInTraining plan, int iterations,
                                std::function<void(int iteration, int profiles)> chosen);

}  // namespace tuner
