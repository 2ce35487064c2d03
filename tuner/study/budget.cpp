#include "tuner/study/budget.h"

#include <fmt/format.h>

#include "tuner/study/training_plan.h"

namespace tuner {

void Budget::expect_training(std::optional<double> expected_s) {
  const auto seconds = [](auto duration) {
    return std::chrono::duration<double>(duration).count();
  };
  const auto now = std::chrono::steady_clock::now();
  const double takes_s = expected_s.value_or(last_ ? seconds(now - *last_) : 0);
  last_ = now;
  const double left_s = limit_s_ - seconds(now - begin_);
  if (limit_s_ <= 0 || takes_s < left_s) return;
  throw EndedEarly(
      fmt::format("the budget of {} ends before the next training would, which takes about {}: "
                  "--resume goes on",
                  about_so_long(limit_s_), about_so_long(takes_s)),
      false);
}

}  // namespace tuner
