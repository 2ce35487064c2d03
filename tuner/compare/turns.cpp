#include "tuner/compare/turns.h"

#include <utility>

#include "db/console/statistics.h"
#include "db/load.h"
#include "moe/program/timeline.h"

namespace tuner {

double median_s(const Turns& turns) {
  std::vector<double> seconds;
  for (const auto& [repeat, of_repeat] : turns) {
    for (const auto& [iteration, value] : of_repeat) seconds.push_back(value);
  }
  return db::median(std::move(seconds));
}

Turns measured_turns(const db::Connection& connection, std::span<const db::TrialRepeat> repeats) {
  Turns turns;
  for (const db::TrialRepeat& repeat : repeats) {
    if (!(repeat.measured_s > 0)) continue;
    std::map<int, double>& of_repeat = turns[repeat.repeat];
    if (repeat.run_id) {
      for (const db::Iteration& one :
           db::load_iterations(connection, *repeat.run_id, moe::kWarmupIterations + 1)) {
        if (one.duration_s > 0) of_repeat[one.iteration] = one.duration_s;
      }
    }
    if (of_repeat.empty()) of_repeat[0] = repeat.measured_s;
  }
  return turns;
}

}  // namespace tuner
