#pragma once

#include <string>
#include <vector>

#include "db/records.h"

namespace tuner {

/// Says why a study compares nothing: none of its trials was measured, or that of the sequential
/// schedule hung, crashed, failed or was not started, so that there is nothing to compare with. ""
/// where it does. A
/// sequential schedule that needs more memory than there is leaves a comparison with the fastest.
std::string why_nothing_compares(const std::vector<db::Trial>& trials);

}  // namespace tuner
