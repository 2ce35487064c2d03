#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace db {

/// When a task that takes long says something: not in the first `silent_s`, and then ever more seldom,
/// at last every 30 s.
class TurnsToSpeak {
 public:
  explicit TurnsToSpeak(double silent_s) : next_s_(silent_s) {}

  /// The seconds since the begin where it is time to speak, which it then is later again.
  std::optional<double> now();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now();
  double next_s_;  ///< after the begin
};

/// Says on stderr how far a task is that takes long, and about how much time is left:
///
///     moe-tune: simulation of 16384 ranks: 41% after 4 s, about 6 s left
///
/// It is silent for the first 2 s (TurnsToSpeak). `--quiet` silences it, as all
/// messages.
class Progress {
 public:
  /// `total`: the work of the task, in any unit.
  Progress(std::string task, double total, double silent_s = 2);

  /// So much of the work is done. Costs little where there is nothing to say.
  void at(double done);

 private:
  std::string task_;
  double total_;
  TurnsToSpeak turns_;
};

}  // namespace db
