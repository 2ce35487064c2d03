#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "db/console/progress.h"
#include "moe/passes/schedule.h"

namespace tuner {

/// Says on stderr what a planner tries, where that takes long:
///
///     moe-tune: pipemoe: 7 of at most 15, 12 s so far: simulates forward_chunks: 7, backward_chunks: 1;
///     the fastest so far takes 22.5 s
///
/// It is silent for the first seconds, and then speaks ever more seldom (db::TurnsToSpeak). `--quiet`
/// silences it, as all messages.
class PlanningProgress {
 public:
  /// How a schedule is told from the planner's others: a JSON object.
  using Parameters = std::function<std::string(const moe::Schedule&)>;

  explicit PlanningProgress(std::string planner, Parameters parameters = {}, double silent_s = 2);
  /// Of a planner that `outer` asks for plans. It is silent as long as `outer`, which must outlive it.
  PlanningProgress(PlanningProgress& outer, std::string_view planner, Parameters parameters);
  PlanningProgress(const PlanningProgress&) = delete;
  PlanningProgress& operator=(const PlanningProgress&) = delete;

  /// Up to so many schedules more will be tried.
  void expect(std::size_t more) { expected_ += more; }
  /// Begins to do something with a schedule: "simulates".
  void tries(std::string_view what, const moe::Schedule& schedule);
  /// A schedule that was tried takes so long.
  void found(double seconds);

 private:
  std::string planner_;
  Parameters parameters_;
  db::TurnsToSpeak own_turns_;
  db::TurnsToSpeak& turns_;
  std::size_t expected_ = 0, tried_ = 0;
  double fastest_s_ = 0;  ///< 0: none yet
};

}  // namespace tuner
