#include "tuner/study/measured_turns.h"

#include <vector>

#include "db/load.h"
#include "moe/program/timeline.h"

namespace tuner {

Turns measured_turns(const db::Connection& connection, std::span<const db::TrialRepeat> repeats) {
  Turns turns;
  for (const db::TrialRepeat& repeat : repeats) {
    if (!(repeat.measured_s > 0)) continue;
    std::vector<db::Iteration> iterations;
    if (repeat.run_id) {
      iterations = db::load_iterations(connection, *repeat.run_id, moe::kWarmupIterations + 1);
    }
    std::erase_if(iterations, [](const db::Iteration& one) { return !(one.duration_s > 0); });
    if (iterations.empty()) turns[{repeat.repeat, 0}] = repeat.measured_s;
    for (const db::Iteration& one : iterations) {
      turns[{repeat.repeat, one.iteration}] = one.duration_s;
    }
  }
  return turns;
}

}  // namespace tuner
