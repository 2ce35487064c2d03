#include "moe/model/zero_rate.h"

#include <gtest/gtest.h>

#include "moe/kernels/learning_rate.h"
#include "moe/model/update.h"

namespace moe::zero_rate_test {
namespace {

Model falling(RateSchedule schedule, std::int64_t decay_steps) {
  Model model;
  model.learning_rate_schedule = schedule;
  model.warmup_steps = 2;
  model.decay_steps = decay_steps;
  return model;
}

TEST(ZeroRate, IsFoundWhereTheRateOfIterationsIsZeroAndOthersFollow) {
  constexpr std::int64_t steps = 20;
  for (const RateSchedule schedule : {RateSchedule::constant, RateSchedule::linear,
                                      RateSchedule::cosine, RateSchedule::inverse_square_root}) {
    const bool ends = schedule == RateSchedule::linear || schedule == RateSchedule::cosine;
    for (const std::int64_t decay_steps : {5, 19, 20, 40}) {
      for (const double least : {0.0, 1e-5}) {
        Model model = falling(schedule, ends ? decay_steps : 0);
        model.least_learning_rate = schedule == RateSchedule::constant ? 0 : least;
        std::optional<std::int64_t> first;
        for (std::int64_t step = 1; step < steps && !first; ++step) {
          if (rate_at(learning_rate(model), static_cast<double>(step)) == 0) first = step;
        }
        EXPECT_EQ(zero_rate_from(model, steps), first) << decay_steps << " " << least;
        EXPECT_EQ(remark_on_zero_rate(model, steps).empty(), !first);
      }
    }
  }
}

TEST(ZeroRate, IsToldWithTheIterationsAndTheKeysThatChangeIt) {
  EXPECT_EQ(remark_on_zero_rate(falling(RateSchedule::cosine, 5), 20),
            "the learning rate is 0 from iteration 5 of 20 on, where nothing is learnt: expected "
            "decay_steps of at least --steps, or a least_learning_rate");
}

}  // namespace
}  // namespace moe::zero_rate_test
