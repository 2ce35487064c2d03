#include "moe/model/zero_rate.h"

#include <fmt/format.h>

namespace moe {

std::optional<std::int64_t> zero_rate_from(const Model& model, std::int64_t steps) {
  const bool ends_at_zero = falls_to_an_end(model) && model.least_learning_rate == 0;
  if (!ends_at_zero || model.decay_steps >= steps) return std::nullopt;
  return model.decay_steps;
}

std::string remark_on_zero_rate(const Model& model, std::int64_t steps) {
  const auto from = zero_rate_from(model, steps);
  if (!from) return "";
  return fmt::format(
      "the learning rate is 0 from iteration {} of {} on, where nothing is learnt: expected "
      "decay_steps of at least --steps, or a least_learning_rate",
      *from, steps);
}

}  // namespace moe
