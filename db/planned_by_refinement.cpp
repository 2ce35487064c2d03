#include "db/planned_by_refinement.h"

#include <nlohmann/json.hpp>

namespace db {

bool is_planned_by_refinement(const Trial& trial) {
  constexpr bool kThrows = false;
  const auto parameters = nlohmann::json::parse(trial.parameters_json, nullptr, kThrows);
  return parameters.is_object() && parameters.contains(kRefinement);
}

}  // namespace db
