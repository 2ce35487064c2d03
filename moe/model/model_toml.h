#pragma once

#include <string>

#include "moe/model/model.h"

namespace moe {

/// A model file with every key that the model has a use for, and with its value in force.
/// load_model() reads it back as the same model.
std::string to_toml(const Model& model);

}  // namespace moe
