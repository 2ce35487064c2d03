#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// Adds the update phase: what gates adjust, the norm of all gradients where they are clipped, and
/// the optimizer's step for every parameter.
void update_parameters(LayerBuilder& build);

/// The learning rates that the model's keys say.
LearningRate learning_rate(const Model& model);

/// False for a parameter whose blocks have one row: biases and the scales and shifts of norms.
/// They do not decay, as in nanoGPT.
bool decays(const Parameter& parameter);

/// The ranks of a stage that hold the same elements of the parameter.
int copies_in_stage(const Program& program, const Parameter& parameter);

}  // namespace moe
