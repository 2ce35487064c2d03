#pragma once

#include "moe/input/value.h"
#include "moe/model/model_key.h"

namespace moe {

/// Reads the value of `key`. Throws InputError where it is not within its range.
KeyValue read_value(const ModelKey& key, const InputValue& value);

/// Reads one key of `table` into `model`, where it stands there. Throws InputError for a required
/// key that is missing, a value out of range, and a key that the model has no use for.
void read_key(const InputObject& table, const ModelKey& key, Model& model);

/// Sets the key "precision" from what version 0.1 called "dtype". Throws as read_value.
void set_precision(const InputValue& earlier, Model& model);

/// A key that the model's choice has no use for, as `refusal` says. Throws InputError where the key
/// stands in the same file as the choice, or nothing chooses; where the file inherits it from its
/// base and chooses otherwise, the key stays behind.
void refuse_key(const InputValue& key, const InputObject& table, std::string_view choice,
                std::string_view refusal);

}  // namespace moe
