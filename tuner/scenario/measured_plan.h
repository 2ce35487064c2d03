#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tuner/scenario/plan_in_training.h"

namespace tuner {

/// The plan of a planner that measures (Planner::measures), inside a training. The planner runs on
/// a thread of its own. Whenever it asks how long an iteration takes under a schedule, training
/// goes on under that schedule for some iterations and answers. Schedules leave losses as they are,
/// so nothing is lost.
class MeasuredPlan {
 public:
  /// An answer is the median of `iterations`, without the first one under a schedule.
  MeasuredPlan(PlanInTraining plan, int iterations);
  MeasuredPlan(const MeasuredPlan&) = delete;
  MeasuredPlan& operator=(const MeasuredPlan&) = delete;
  ~MeasuredPlan();

  /// Call it after every iteration, with its routing and its seconds. The first call begins the
  /// plan. Returns the schedule of the next iteration where it changes. Passes on the exceptions of
  /// the plan.
  std::optional<moe::Schedule> after(const moe::Routing& routing, double duration_s);
  /// True once after() has returned the plan.
  bool is_done() const { return done_; }
  /// The number of schedules measured so far.
  int measured() const { return measured_; }

 private:
  void begin(const moe::Routing& routing);
  double ask(const moe::Schedule& schedule);
  moe::Schedule next_request();

  const PlanInTraining plan_in_training_;
  const int iterations_;
  moe::Routing routing_;  ///< the routing of the first iteration
  bool done_ = false;
  int measured_ = 0;
  int iterations_run_ = 0;  ///< iterations under the schedule that is being measured
  std::vector<double> durations_;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::optional<moe::Schedule> asked_, plan_;
  std::optional<double> answer_;
  std::exception_ptr failure_;
  bool abandoned_ = false;

  std::thread thread_;  ///< last: it uses all members
};

}  // namespace tuner
