#pragma once

#include <string>
#include <vector>

#include "moe/command/arguments.h"
#include "moe/command/training.h"

namespace moe {

/// Finds the checkpoint to go on from, where one is asked for. The model takes over its number of
/// capacity groups where it leaves that open. Throws InputError where the folder has another
/// training or another model.
void read_checkpoint(const TrainArguments& arguments, TrainInputs& inputs);

/// The settings of `model` that are in force where the training goes on from a checkpoint: with its
/// number of capacity groups. Throws as read_checkpoint().
std::vector<std::string> settings_in_force(const TrainArguments& arguments, const Model& model);

}  // namespace moe
