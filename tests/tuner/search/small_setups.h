#pragma once

#include <cstdint>

#include "moe/model/model.h"
#include "tuner/costs/cluster.h"

/// A model and a cluster that are searched in milliseconds.
namespace tuner::test {

inline moe::Model small_setup_model(int blocks, std::int64_t batch) {
  moe::Model model;
  model.sequence_length = 16;
  model.vocabulary = 64;
  model.d_model = 32;
  model.d_hidden = 96;
  model.heads = 4;
  model.blocks = blocks;
  model.experts = 4;
  model.global_batch = batch;
  return model;
}

inline CostedCluster small_setup_cluster(int nodes, int ranks_per_node) {
  CostedCluster costed;
  costed.cluster.nodes = nodes;
  costed.cluster.ranks_per_node = ranks_per_node;
  costed.cluster.inter_node = {1e9, 1e-5};
  costed.cluster.intra_node = {1e10, 1e-6};
  for (const char* unit : {"gemm", "memory"}) {
    costed.costs.fits[unit].alpha_s = 1e-6;
    costed.costs.fits[unit].beta_s_per_unit = 1e-11;
  }
  return costed;
}

}  // namespace tuner::test
