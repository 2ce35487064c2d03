#pragma once

#include <optional>
#include <string>

#include "moe/model/published/published_class.h"

/// Which models the library transformers has too.
namespace moe {

/// A key of a model without a counterpart in a class, as an error names it.
struct UnmatchedKey {
  std::string key;       ///< "gate = \"sigmoid\""
  std::string expected;  ///< "\"softmax\""
};

/// The first key for which the class would compute something else; none where it computes the same:
/// its config.json is written and read again. Keys of the training, its losses and its draws are
/// not looked at.
std::optional<UnmatchedKey> unmatched_key(const Model& model, const PublishedClass& of);

/// The class to write a model as: `asked`, or the first that fits where none is asked for. Throws
/// Refusal with the keys that do not fit.
const PublishedClass& fitting_class(const Model& model, const PublishedClass* asked);

}  // namespace moe
