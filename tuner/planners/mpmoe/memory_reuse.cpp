#include "tuner/planners/mpmoe/memory_reuse.h"

#include <algorithm>
#include <utility>

#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::mpmoe {
namespace {

std::int64_t peak_of(const Situation& situation, const moe::Schedule& schedule) {
  return planned_peak_bytes(situation, moe::apply(situation.program, schedule));
}

}  // namespace

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

const Rated& of_least_memory(const Situation& situation, const std::vector<Rated>& rated) {
  return *std::ranges::min_element(
      rated, {}, [&](const Rated& one) { return peak_of(situation, one.schedule); });
}

}  // namespace tuner::mpmoe
