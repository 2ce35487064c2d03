#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "moe/model/model_key.h"

namespace moe {

class InputObject;

/// Every key that the model has with the value in force.
std::string to_json(const Model& model);

/// The model of which to_json wrote `text`. A key that is not there has its default. Throws
/// InputError for a key that is unknown or out of its range. Whether keys fit each other is not
/// looked at: check() does that.
Model model_from_json(std::string_view text, const std::string& name = "model");

/// The same, of an object of a larger file. Leaves keys that it does not know to the file.
Model model_from_json(const InputObject& object);

/// A key of which two models have different values.
struct KeyDifference {
  std::string key;    ///< "bias_speed", "hooks.before_dispatch"
  std::string first;  ///< both values, as value_text prints them
  std::string second;
  std::string_view table;  ///< of the key: "model", "moe", "moe.hooks", "training"; "" of the name
  KeyKind kind;            ///< in either model: the one that allows less
};
/// Every key whose value in force differs. Keys that a gate declares itself are compared where both
/// models have the same gate.
std::vector<KeyDifference> differing_keys(const Model& first, const Model& second);

}  // namespace moe
