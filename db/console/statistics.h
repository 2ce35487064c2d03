#pragma once

#include <vector>

namespace db {

/// The median. For an even number of values it is the mean of the middle two. Throws
/// std::invalid_argument without values.
double median(std::vector<double> values);

/// The t within which a share of Student's distribution with `degrees` degrees of freedom lies. Of
/// 95%: 12.71 for 1 degree, 1.96 for very many. Throws std::invalid_argument for less than 1.
double student_t(int degrees, double share = 0.95);

}  // namespace db
