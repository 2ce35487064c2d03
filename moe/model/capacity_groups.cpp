#include "moe/model/capacity_groups.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "moe/model/gates/gates.h"

namespace moe {

int capacity_groups(const Model& model, const Layout& layout) {
  return model.capacity_groups > 0 ? model.capacity_groups
                                   : stage_ranks(layout) * model.micro_batches;
}

bool routes_by_groups(const Model& model) {
  return (model.capacity_factor || gate_named(model.gate).facts.ranks_groups) &&
         blocks_with_experts(model) > 0;
}

TakenGroups taken_groups(int before, int iteration, const Model& model, const Layout& layout) {
  if (before == 0 || !routes_by_groups(model) || model.capacity_groups > 0) return {};
  const int own = capacity_groups(model, layout);
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  if (before % own == 0 && tokens % before == 0) return {before, ""};
  const std::int64_t both = std::lcm(std::int64_t{before}, std::int64_t{own});
  const bool one_goes_on = tokens % both == 0 && both <= std::numeric_limits<int>::max();
  return {0, fmt::format(
                 "capacity_groups was {} up to iteration {}, and is {} from there on, one for each "
                 "rank and micro-batch: tokens are routed otherwise{}",
                 before, iteration, own,
                 one_goes_on ? fmt::format(" (capacity_groups = {} fits both, from the first "
                                           "iteration on)",
                                           both)
                             : "")};
}

}  // namespace moe
