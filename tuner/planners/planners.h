#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// All planners, baselines first.
const std::vector<Planner>& planners();

/// Throws moe::InputError, with the names of all planners, where none has this name.
const Planner& planner_named(std::string_view name);

/// A planner with options, as a person writes them.
struct PlannerRequest {
  const Planner* planner = nullptr;
  PlannerOptions options;
};

/// "NAME", "NAME:KEY=VALUE", "NAME:KEY=VALUE:KEY=VALUE"; "NAME:4" is short for "NAME:degree=4".
/// Throws moe::InputError, with the planners or options there are, for an unknown name, key or
/// value.
PlannerRequest parse_planner(std::string_view text);
/// Several, separated by commas.
std::vector<PlannerRequest> parse_planners(std::string_view text);

/// The form that parse_planner reads: "tutel:degree=4".
std::string to_text(const PlannerRequest& request);

/// "degree=1..64, most_chunks=1..64"; "" for a planner without options.
std::string options_text(const Planner& planner);

/// The names of the planners that choose by Situation::measure, separated by commas.
std::string measuring_planners();

}  // namespace tuner
