#pragma once

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/rows/layout.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/simulate/simulate.h"

namespace tuner::test {

/// A model whose experts and dense matrices are shared by the two ranks of each of two nodes, on
/// links slow enough for exchanges and gradients to matter.
struct ShardedSituation {
  moe::Model model = [] {
    moe::Model m;
    m.name = "sharded";
    m.blocks = 4;
    m.moe_every = 1;
    m.global_batch = 8;
    m.sequence_length = 256;
    m.d_model = m.d_hidden = 512;
    return m;
  }();
  Cluster cluster = [] {
    Cluster c = small_cluster();
    c.ranks_per_node = 2;
    c.inter_node = {1e9, 2e-5};  // of a node: more than its ranks reach by themselves
    c.intra_node = {5e8, 1e-5};
    return c;
  }();
  CostModel costs = [] {
    CostModel c;
    c.fits["gemm"].beta_s_per_unit = 1e-11;
    c.fits["memory"].beta_s_per_unit = 1e-11;
    const auto line = [&](const char* kind, double beta) {
      c.fits[kind].alpha_s = 2e-5;
      c.fits[kind].beta_s_per_unit = beta;
    };
    line("all_to_all/inter_node", 4e-9);
    line("all_reduce/inter_node", 5e-8);
    return c;
  }();
  moe::Groups groups = groups_of(cluster, moe::Layout{1, 2, 2, 2});
  moe::Program program = moe::build_iteration(model, groups, 0);
  moe::Routing routing = make_routing("uniform", program, groups, 1);
  Situation situation{program, groups, routing, costs, cluster};

  double simulated_s(const moe::Schedule& schedule) const {
    return simulate(moe::apply(program, schedule), groups, routing, costs, cluster).duration_s;
  }
};

}  // namespace tuner::test
