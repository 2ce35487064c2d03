#include "db/console/statistics.h"

#include <algorithm>
#include <stdexcept>

namespace db {

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median: no values");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace db
