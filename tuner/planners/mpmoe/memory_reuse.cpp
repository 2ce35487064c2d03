#include "tuner/planners/mpmoe/memory_reuse.h"

#include <utility>
#include <vector>

#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner::mpmoe {

std::optional<moe::Schedule> reuse_schedule(const moe::Program& program, std::string planner, int n,
                                            const Strategy& strategy) {
  moe::Schedule schedule = pipeline_schedule(program, std::move(planner), {n, n});
  const std::vector<int> layers = moe_layers(program);
  for (const int layer : layers) {
    schedule.decisions.push_back(
        moe::RestoreActivation{layer, strategy.dispatched, strategy.hidden});
  }
  if (layers.empty() || !moe::is_legal(program, schedule)) return std::nullopt;
  return schedule;
}

std::string_view strategy_of(const moe::Schedule& schedule) {
  const auto restoring = moe::decisions_of<moe::RestoreActivation>(schedule);
  if (restoring.empty()) return "";
  for (const Strategy& strategy : kStrategies) {
    if (strategy.dispatched == restoring[0].dispatched && strategy.hidden == restoring[0].hidden) {
      return strategy.name;
    }
  }
  return "";
}

}  // namespace tuner::mpmoe
