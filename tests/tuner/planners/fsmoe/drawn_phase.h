#pragma once

#include <cmath>
#include <random>

#include "tests/tuner/line.h"
#include "tuner/planners/pipeline/fsmoe_equations.h"

namespace tuner::test {

/// Between lowest and highest, every factor as likely as every other.
inline double draw_between(std::mt19937& random, double lowest, double highest) {
  return lowest * std::pow(highest / lowest, std::uniform_real_distribution<>(0, 1)(random));
}

/// A phase of any balance between its tasks; half of all reduce gradients. The equations take a
/// reduce-scatter to be about as long as an all-gather: `alike` draws such ones, within a quarter.
inline MoePhase draw_phase(std::mt19937& random, bool alike) {
  MoePhase phase;
  for (PipelineTask* task : {&phase.a2a, &phase.ag, &phase.rs, &phase.exp}) {
    *task = {draw_between(random, 0.02, 0.5), draw_between(random, 0.2, 30)};
  }
  if (alike) {
    phase.rs = {phase.ag.startup_s * draw_between(random, 0.8, 1.25),
                phase.ag.volume_s * draw_between(random, 0.8, 1.25)};
  }
  if (random() % 2 == 0) phase.gar_s = draw_between(random, 0.2, 20);
  return phase;
}

/// FSMoE's testbeds in ms and ms per element, and per multiply-add.      [FSMoE Fig. 5; see
/// experiments/clusters/fsmoe-testbed-a.toml for its erratum]
struct TestbedFits {
  LinearFit gemm, a2a, ag, rs, ar;
};
inline TestbedFits testbed_a() {
  return {line(4.26e-2, 2.29e-11), line(2.87e-1, 2.32e-6), line(3.37e-1, 2.35e-7),
          line(3.95e-1, 2.22e-7), line(5.11e-1, 4.95e-6)};
}
inline TestbedFits testbed_b() {
  return {line(9.24e-2, 4.42e-11), line(1.75e-1, 3.06e-7), line(3.20e-2, 1.68e-7),
          line(3.91e-2, 1.67e-7), line(8.37e-2, 5.99e-7)};
}

inline MoePhase testbed_phase(const TestbedFits& fits, const MessageSizes& sizes, int gemms) {
  return {pipeline_task(fits.a2a, sizes.a2a), pipeline_task(fits.ag, sizes.ag),
          pipeline_task(fits.rs, sizes.ag), pipeline_task(fits.gemm, sizes.exp, gemms), 0};
}

}  // namespace tuner::test
