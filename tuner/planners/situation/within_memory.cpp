#include "tuner/planners/situation/within_memory.h"

#include <utility>

#include "tuner/planners/situation/sharded_optimizer.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner {

std::vector<moe::Schedule> lighter_schedules(const moe::Program& program,
                                             const moe::Schedule& schedule) {
  std::vector<moe::Schedule> lighter;
  auto sharded = with_sharded_optimizer(program, schedule);
  if (sharded) lighter.push_back(std::move(*sharded));
  return lighter;
}

moe::Schedule within_memory(const Situation& situation, moe::Schedule schedule) {
  const auto fits = [&](const moe::Schedule& one) {
    return fits_memory(situation, moe::apply(situation.program, one));
  };
  if (situation.cluster.memory_bytes == 0 || !moe::is_legal(situation.program, schedule) ||
      fits(schedule)) {
    return schedule;
  }
  for (moe::Schedule& lighter : lighter_schedules(situation.program, schedule)) {
    if (fits(lighter)) return std::move(lighter);
  }
  return schedule;
}

}  // namespace tuner
