#pragma once

#include <vector>

namespace db {

/// The median. For an even number of values it is the mean of the middle two. Throws
/// std::invalid_argument without values.
double median(std::vector<double> values);

}  // namespace db
