#include "tuner/study/measured_turns.h"

#include <utility>
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

std::vector<MeasuredTrial> measured_trials(const db::Connection& connection,
                                           std::int64_t study_id) {
  std::vector<MeasuredTrial> all;
  for (db::Trial& trial : db::load_trials(connection, study_id, "done")) {
    Turns turns = measured_turns(connection, db::load_trial_repeats(connection, trial.id));
    if (!turns.empty()) all.push_back({std::move(trial), std::move(turns)});
  }
  return all;
}

}  // namespace tuner
