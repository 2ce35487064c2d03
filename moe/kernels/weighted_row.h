#pragma once

#include <cstdint>

namespace moe {

/// A row of a matrix as a term of a sum (sum_rows() of a team); row < 0: none.
template <class Real>
struct WeightedRow {
  std::int64_t row;
  Real weight;
};

}  // namespace moe
