#pragma once

#include <utility>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tests/tuner/small_program.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner::test {

inline moe::Model two_moe_layers() {
  moe::Model model;
  model.name = "test";
  model.blocks = 2;
  model.moe_every = 1;
  return model;
}

/// A model, evenly routed, on nodes of one rank each.
struct EvenSituation {
  moe::Model model;
  Cluster cluster = small_cluster();
  CostModel costs;
  moe::Groups groups;
  moe::Program program;
  moe::Routing routing;
  Situation situation{program, groups, routing, costs, cluster};

  explicit EvenSituation(moe::Model of = two_moe_layers(), int ranks = 4,
                         Link inter_node = {2.5e8, 5e-5})
      : EvenSituation(std::move(of), moe::Layout{1, ranks, 1}, inter_node) {}
  EvenSituation(moe::Model of, const moe::Layout& layout, Link inter_node) : model(std::move(of)) {
    cluster.nodes = moe::rank_count(layout);
    cluster.inter_node = inter_node;
    for (const char* unit : {"gemm", "memory"}) costs.fits[unit].beta_s_per_unit = 1e-10;
    groups = groups_of(cluster, layout);
    program = moe::build_iteration(model, groups, 0);
    routing = make_routing("uniform", program, groups, 1);
  }
};

}  // namespace tuner::test
