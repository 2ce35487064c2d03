#pragma once

#include <cmath>
#include <random>

#include "tests/tuner/line.h"
#include "tuner/costs/fit.h"
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

/// The task of n units of work by a fitted line. alpha and beta count `gemms` times where they are
/// those of one product.
inline PipelineTask pipeline_task(const LinearFit& fit, double n, int gemms = 1) {
  return {gemms * fit.alpha_s, n * gemms * fit.beta_s_per_unit};
}

/// Backward computes two gradients where forward has one product: alpha and n beta double. [FSMoE
/// 4.4; the text doubles alpha, beta and n, which is four-fold; twice is the authors' code]
inline PipelineTask backward_experts(const PipelineTask& forward) {
  return {2 * forward.startup_s, 2 * forward.volume_s};
}

/// The elements that travel, and the multiply-adds of one product, for a layer of B samples of L
/// tokens and width M, experts of hidden width H, k experts a token, capacity factor f, N_ESP =
/// N_MP = shards.
///   n_a2a = k f B L M / N_ESP, n_ag = n_rs = k f B L M, n_exp = k f B L M H / N_ESP  [FSMoE, code]
/// There is one expert for each member of an expert group, so that their number cancels.
struct MessageSizes {
  double a2a = 0;
  double ag = 0;  ///< and rs
  double exp = 0;
};
inline MessageSizes message_sizes(double k, double f, double B, double L, double M, double H,
                                  int shards) {
  const double copies = k * f * B * L;
  return {copies * M / shards, copies * M, copies * M * H / shards};
}

/// The elements of the gradients of a layer outside its experts.                      [FSMoE, code]
///   GPT 4 M^2 / N_MP + 3 M / N_MP + M, Mixtral 2.5 M^2 / N_MP
inline double gpt_dense_gradients(double M, int shards) {
  return 4 * M * M / shards + 3 * M / shards + M;
}
inline double mixtral_dense_gradients(double M, int shards) { return 2.5 * M * M / shards; }

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
