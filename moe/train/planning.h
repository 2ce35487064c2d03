#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <optional>

#include "moe/passes/schedule.h"
#include "moe/rows/routing.h"

namespace moe {

/// What an iteration shows to who plans those that follow.
struct SeenIteration {
  int iteration = 0;  ///< from 1
  double duration_s = 0;
  Routing routing;
  /// What rules as a plan begins to: what ruled it, or, where plans are made beside, what rules the next.
  Schedule ruling{};
};

/// The Schedule of the iterations that follow; none to go on as before.
using Replan = std::function<std::optional<Schedule>(const SeenIteration& seen)>;

/// When plans are made, and so which iteration the plan from iteration j rules first.
enum class PlanningTurn : std::uint8_t {
  between,  ///< between iterations, which wait for it: j + 1
  beside,  ///< on a thread of its own beside iteration j + 1: j + 2  [Pro-Prophet Alg. 2: Plan in an all-to-all]
};

/// Of plans that were made, on rank 0.
struct PlanningTime {
  int plans = 0;
  double total_s = 0;
  double exposed_s = 0;  ///< that iterations waited for
};

/// Asks a Replan after every iteration, and counts what that takes. Its destructor waits for a plan that is being made.
class Planning {
 public:
  /// `steps`: iterations there will be; no plan is begun that could rule none of them.
  Planning(Replan replan, PlanningTurn turn, int steps = std::numeric_limits<int>::max());

  /// Begins with what the iteration has shown; the schedule of the next one, where it is to change. Throws what the Replan
  /// throws.
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
  std::future<Planned> running_;  ///< from the iteration before
};

}  // namespace moe
