#include "moe/train/turns.h"

#include <optional>
#include <utility>

namespace moe {

Turn turn_of(int iteration, std::size_t schedules) {
  const auto before = static_cast<std::size_t>(iteration - 1);
  return {before % schedules, static_cast<int>(before / schedules) + 1};
}

Replan in_turns(std::vector<Schedule> schedules) {
  return [all = std::move(schedules)](const SeenIteration& seen) -> std::optional<Schedule> {
    return all[turn_of(seen.iteration + 1, all.size()).schedule];
  };
}

}  // namespace moe
