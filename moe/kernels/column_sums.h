#pragma once

#include <cstdint>

#include "moe/kernels/device.h"

namespace moe {

/// What one element adds to `count` sums over the rows of its column.
template <class Real, int count>
struct Sums {
  Real value[count];
};

/// Where the sums of each column go; added to what is there where `accumulate`.
template <class Real, int count>
struct SumTargets {
  Real* out[count];
  bool accumulate;

  MOE_BODY void store(int which, std::int64_t column, Real sum) const {
    Real& target = out[which][column];
    target = accumulate ? target + sum : sum;
  }
};

/// The elements of a matrix themselves: the gradient of a bias.
template <class Real>
struct ElementTerms {
  const Real* in;
  std::int64_t width;

  MOE_BODY Sums<Real, 1> operator()(std::int64_t row, std::int64_t column) const {
    return {in[row * width + column]};
  }
};

}  // namespace moe
