#pragma once

#include <vector>

namespace db {

/// Median; of an even number of values the mean of the middle two. Throws std::invalid_argument
/// when empty.
double median(std::vector<double> values);

}  // namespace db
