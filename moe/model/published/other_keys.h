#pragma once

#include <string>
#include <vector>

#include "moe/model/published/published_class.h"

namespace moe {

/// Throws InputError for a key that nobody has read and that may change what is computed. Gives the
/// others, which change nothing of it.
std::vector<std::string> keys_left_aside(const Config& config, const PublishedClass& of);

/// What the file has besides: code of its own, parameters in a format that is not read here.
std::vector<std::string> remarks_on(const Config& config);

}  // namespace moe
