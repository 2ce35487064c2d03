#include "moe/model/model.h"

#include <fmt/format.h>

#include <stdexcept>

#include "moe/model/iteration.h"

namespace moe {

void check(const Model& model, const Groups& groups) {
  const auto fail = [](const std::string& why) { throw std::invalid_argument(why); };
  if (model.global_batch % groups.ranks != 0)
    fail(fmt::format("model {}: global_batch = {} does not divide by {} ranks", model.name,
                     model.global_batch, groups.ranks));
  if (model.moe_every > 0 && model.experts % groups.expert_ranks != 0)
    fail(fmt::format("model {}: experts = {} does not divide by {} ranks", model.name,
                     model.experts, groups.expert_ranks));
  if (model.capacity_groups > 0 && model.capacity_groups % groups.ranks != 0)
    fail(fmt::format("model {}: capacity_groups = {} does not divide by {} ranks", model.name,
                     model.capacity_groups, groups.ranks));
  const int capacity_groups = model.capacity_groups > 0 ? model.capacity_groups : groups.ranks;
  if (model.global_batch * model.sequence_length % capacity_groups != 0)
    fail(fmt::format("model {}: {} tokens do not divide into {} capacity groups", model.name,
                     model.global_batch * model.sequence_length, capacity_groups));
  if (model.d_model % model.heads != 0)
    fail(fmt::format("model {}: d_model = {} does not divide by {} heads", model.name,
                     model.d_model, model.heads));
}

std::int64_t parameter_count(const Model& model) {
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  std::int64_t count = 0;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    count += tensor.rows * tensor.columns;
  }
  return count;
}

}  // namespace moe
