#pragma once

#include <chrono>
#include <string>

namespace db {

/// Says on stderr how far a task is that takes long, and about how much time is left:
///
///     moe-tune: simulation of 16384 ranks: 41% after 4 s, about 6 s left
///
/// It is silent for the first 2 s, and then speaks ever more seldom. `--quiet` silences it, as all
/// messages.
class Progress {
 public:
  /// `total`: the work of the task, in any unit.
  Progress(std::string task, double total, double silent_s = 2);

  /// So much of the work is done. Costs little where there is nothing to say.
  void at(double done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string task_;
  double total_;
  Clock::time_point begun_ = Clock::now();
  double next_s_;  ///< after the begin
};

}  // namespace db
