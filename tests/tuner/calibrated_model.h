#pragma once

#include "moe/model/model.h"

namespace tuner::test {

/// Two MoE layers, so wide that their products take longer than to start them.
inline moe::Model calibrated_model() {
  moe::Model model;
  model.blocks = 2;
  model.moe_every = 1;
  model.global_batch = 16;
  model.d_model = 256;
  return model;
}

}  // namespace tuner::test
