#pragma once

#include <cstdint>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner::test {

/// A model of three MoE layers whose experts are of very different popularity, on four ranks on a
/// network that takes about as long with a layer's rows as its experts with computing them.
struct SkewedSituation {
  moe::Model model = [] {
    moe::Model m;
    m.name = "skewed";
    m.blocks = 3;
    m.moe_every = 1;
    m.global_batch = 16;
    m.sequence_length = 256;
    m.d_model = 64;
    m.d_hidden = 128;
    m.experts = 8;
    return m;
  }();
  Cluster cluster = [] {
    Cluster c = small_cluster();
    c.nodes = 4;
    c.inter_node = {2e8, 1e-5};
    return c;
  }();
  CostModel costs = plain_costs();
  moe::Groups groups;
  moe::Program program;
  moe::Routing routing;
  Situation situation{program, groups, routing, costs, cluster};

  explicit SkewedSituation(const moe::Layout& layout = moe::Layout{1, 4, 1},
                           const char* asked = "zipf:1.2", int micro_batches = 1) {
    model.micro_batches = micro_batches;
    cluster.nodes = moe::rank_count(layout);
    costs.fits["all_to_all/inter_node"].beta_s_per_unit = 1e-8;
    groups = groups_of(cluster, layout);
    program = moe::build_iteration(model, groups, 0);
    routing = make_routing(asked, program, groups, 1);
  }
};

}  // namespace tuner::test
