#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/measured_costs.h"
#include "tuner/scenario/scenario.h"
#include "tuner/search/search.h"

namespace tuner {

/// What a search for layouts alone found.
struct FastestLayouts {
  std::vector<FoundSetup> found;  ///< one of each layout, the fastest first; at least one
  int layouts = 0;                ///< that the model takes
};
/// The `count` fastest layouts of `ranks` ranks by search (search/search.h), with the model's
/// micro-batches unless it takes no layout with them or is a config.json, which has none, under the
/// orders of micro-batches that the requests plan, else sequential. `memory_bytes`: of a rank; 0: what
/// the cluster says. `layouts`: none are the usual ones. Throws moe::Refusal where there is none.
FastestLayouts fastest_layouts(const ScenarioOptions& options, const moe::Model& model,
                               const MeasuredCosts& costs, int ranks,
                               const std::vector<PlannerRequest>& requests, int count,
                               std::int64_t memory_bytes = 0,
                               const std::optional<LayoutRange>& layouts = {});

/// "--layout dp=2,ep=2: of 8 layouts the fastest by search (sequential, shard_optimizer, 2 blocks
/// restored in backward: 3.2 ms)": the first of them, and by which decisions it fits and is so fast.
std::string fastest_in_words(const FastestLayouts& fastest, const moe::Model& model);

/// Loads what the command line names. Where no layout is asked for it is the fastest one, with the
/// micro-batches that this is found with. Says which on stderr, and what load_said says. Where none
/// is found all experts are over all ranks, which is said with the reason. Throws as load_scenario.
Scenario load_with_best_layout(ScenarioOptions options, const std::vector<PlannerRequest>& requests,
                               std::set<std::string>& said);

}  // namespace tuner
