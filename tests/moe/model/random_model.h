#pragma once

#include <random>
#include <string>

#include "moe/model/model_key.h"

/// Models at random for properties that hold for every model.
namespace moe::test {

/// A value within the range of `key`, among its smaller ones.
KeyValue drawn_value(std::mt19937& random, const ModelKey& key);

/// Why the model has no use for this value of the key; "" where it has.
std::string refusal_of(const ModelKey& key, const Model& model, const KeyValue& value);

/// A small model: sizes that 1 to 8 ranks divide, all other keys as drawn_value says.
Model random_model(std::mt19937& random);

}  // namespace moe::test
