#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <optional>

#include "moe/passes/schedule.h"
#include "moe/rows/routing.h"

namespace moe {

/// An iteration as a planner sees it.
struct SeenIteration {
  int iteration = 0;  ///< the number of the iteration, from 1
  double duration_s = 0;
  Routing routing;
  /// The schedule that a new plan would replace: that of this iteration, or of the next one where
  /// plans are made while it runs (PlanningTurn::beside).
  Schedule in_force{};
};

/// Returns the schedule of the iterations that follow, or none to go on as before.
using Replan = std::function<std::optional<Schedule>(const SeenIteration& seen)>;

/// When the plan from iteration j is made, and in which iteration it is in force first.
enum class PlanningTurn : std::uint8_t {
  between,  ///< made before iteration j + 1, which waits for it and runs by it
  /// On a thread of its own while iteration j + 1 runs; in force from iteration j + 2 on.
  /// [Pro-Prophet Alg. 2: Plan during an all-to-all]
  beside,
};

/// How long planning took, as rank 0 counts it.
struct PlanningTime {
  int plans = 0;
  double total_s = 0;
  double exposed_s = 0;  ///< the time that iterations waited for plans
};

/// Asks a Replan after every iteration, and counts the time.
class Planning {
 public:
  /// `steps`: how many iterations there will be. No plan is begun that would come after the last
  /// one.
  Planning(Replan replan, PlanningTurn turn, int steps = std::numeric_limits<int>::max());
  /// Waits for a plan that is being made, and announces it (announced_work.h).
  ~Planning();
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  /// Begins a plan from this iteration. Returns the schedule of the next iteration where it is to
  /// change. Throws what the Replan throws.
  std::optional<Schedule> after(SeenIteration seen);
  const PlanningTime& time() const { return time_; }

 private:
  struct Planned {
    std::optional<Schedule> schedule;
    double duration_s = 0;
  };
  std::optional<Schedule> counted(Planned planned, double exposed_s);

  Replan replan_;
  PlanningTurn turn_;
  int steps_;
  PlanningTime time_;
  std::future<Planned> running_;  ///< the plan that was begun in the iteration before
};

}  // namespace moe
