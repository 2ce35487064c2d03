#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/planners.h"

namespace tuner {

/// A planner that chooses by micro-profiles, inside a training: it plans on a thread of its own, and whenever it asks how
/// long an iteration takes under a schedule, training goes on under that one for some iterations and tells. Schedules leave
/// losses as they are, so that nothing of it is lost.
class ProfiledPlan {
 public:
  /// What the thread calls; the micro-profile that it is given blocks until training has answered.
  using Plan = std::function<moe::Schedule(const MicroProfile&)>;

  /// Each answer is the median of `iterations`, the first one under a schedule left out.
  ProfiledPlan(Plan plan, int iterations);
  ProfiledPlan(const ProfiledPlan&) = delete;
  ProfiledPlan& operator=(const ProfiledPlan&) = delete;
  ~ProfiledPlan();

  /// Behind an iteration of so many seconds: the schedule of the next one, where it changes. Throws what the plan throws.
  std::optional<moe::Schedule> after(double duration_s);
  /// True once after() has given the plan.
  bool is_done() const { return done_; }
  int profiles() const { return profiles_; }

 private:
  double ask(const moe::Schedule& schedule);
  moe::Schedule next_request();

  const int iterations_;
  bool done_ = false;
  int profiles_ = 0;
  int iterations_run_ = 0;  ///< under what is asked for
  std::vector<double> durations_;

  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::optional<moe::Schedule> asked_, plan_;
  std::optional<double> answer_;
  std::exception_ptr failure_;
  bool abandoned_ = false;

  std::thread thread_;  ///< last: it uses all of it
};

}  // namespace tuner
