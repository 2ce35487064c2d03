#pragma once

#include <cstdint>

#include "moe/kernels/bf16.h"
#include "moe/kernels/device.h"

namespace moe {

/// The terms that one element adds to the `count` sums over the rows of its column.
template <class Real, int count>
struct Sums {
  Real value[count];
};

/// The terms of an element: `f` takes the elements of all arrays in its place, or where there is no
/// array the place itself.
template <class F, class... Elements>
MOE_BODY auto term_of(const F& f, std::int64_t row, std::int64_t column, Elements... elements) {
  if constexpr (sizeof...(Elements) == 0) {
    return f(row, column);
  } else {
    return f(row, elements...);
  }
}

/// Where the sums of each column are stored, or added where `accumulate`.
template <class Real, int count>
struct SumTargets {
  Real* out[count];
  bool accumulate;

  MOE_BODY void store(int which, std::int64_t column, Real sum) const {
    Real& target = out[which][column];
    target = accumulate ? target + sum : sum;
  }
};

/// The elements of a matrix as terms: their sums are the gradient of a bias.
template <class Stored>
struct ElementTerm {
  MOE_BODY Sums<Wide<Stored>, 1> operator()(std::int64_t, Stored element) const {
    return {element};
  }
};

}  // namespace moe
