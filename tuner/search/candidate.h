#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/passes/schedule.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/scenario.h"
#include "tuner/search/setup_bound.h"
#include "tuner/search/setup_space.h"

/// What a search tries, and what it knows of it.
namespace tuner {

/// By what a candidate's least time is known. `layout`: by the pieces of another number of
/// micro-batches.
enum class Known { layout, pieces, program, time };

/// A setup with an order of micro-batches, with or without shard_optimizer.
struct SearchCandidate {
  std::size_t setup = 0;
  const Planner* order = nullptr;
  bool sharded = false;
  Known known = Known::pieces;
  double least_s = 0;  ///< no schedule of the candidate takes less; once known, its time
  moe::Schedule schedule{};
  std::string out{};  ///< why it is left out
  /// Where its states or its micro-batches under way exceed the memory of a rank: what they need.
  std::int64_t needed_bytes = 0;
};

/// What was planned and simulated of a setup, for all its candidates.
struct KnownOfSetup {
  std::map<int, PlanMemory> memory;  ///< by the number of micro-batches
  std::map<const Planner*, moe::Schedule> ordered;
  std::size_t ops_of_one = 0;  ///< of the Program of one micro-batch; 0: not known yet
  std::optional<SetupCosts> costs;
  std::optional<bool> one_fits;  ///< one micro-batch, with all that lightens it
  double any_s = 0;              ///< what no planner can beat
};

/// The setups of a search, and what it has found out about each. Two threads may ask about two
/// setups at once, but not about one.
struct SearchedSetups {
  ScenarioOptions scenario;  ///< with the ranks; its layout is not read
  const moe::Model& model;
  MeasuredCosts costs;
  SetupSpace space;
  std::size_t most_whole_ops = 0;     ///< of SearchOptions
  std::vector<KnownOfSetup> known{};  ///< [setup]

  std::int64_t memory_bytes() const { return costs.costed.cluster.memory_bytes; }

  /// The scenario of a setup's layout, with a model that has its micro-batches or fewer.
  Scenario of_setup(const TrainingSetup& setup, const moe::Model& its_model) const {
    ScenarioOptions options = scenario;
    options.layout = moe::to_text(setup.layout);
    return scenario_of(options, its_model, costs);
  }
};

}  // namespace tuner
