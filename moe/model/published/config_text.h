#pragma once

#include <string>

#include "moe/model/published/published_class.h"

namespace moe {

/// The text of config.json for a model of the class. What the class does not have is left out:
/// fitting_class.h says what that would be.
std::string config_text(const Model& model, const PublishedClass& of);

}  // namespace moe
