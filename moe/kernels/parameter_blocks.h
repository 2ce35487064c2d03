#pragma once

#include <cstdint>
#include <stdexcept>

#include "moe/kernels/device.h"

namespace moe {

/// The tensors of up to `capacity` parameters, cut into blocks of kBlock elements. The numbers of
/// the blocks go on from one parameter to the next. A launch over them updates all these
/// parameters, and takes them as its argument.
template <class Tensors, int capacity>
struct ParameterBlocks {
  static constexpr std::int64_t kBlock = 4096;

  Tensors tensors[capacity];
  std::int32_t ends[capacity];  ///< the number of the block after the last of each parameter
  int parameters = 0;

  /// `one.count` is the number of its elements.
  void add(const Tensors& one) {
    const std::int64_t end = blocks() + (one.count + kBlock - 1) / kBlock;
    if (parameters == capacity || end > INT32_MAX) {
      throw std::logic_error("an update of more parameters than a launch takes");
    }
    tensors[parameters] = one;
    ends[parameters++] = static_cast<std::int32_t>(end);
  }
  std::int64_t blocks() const { return parameters == 0 ? 0 : ends[parameters - 1]; }

  /// The parameter that a block is of.
  MOE_BODY int parameter_of(std::int64_t block) const {
    int low = 0, high = parameters - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (block < ends[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  /// The first element of a block within the parameter that it is of.
  MOE_BODY std::int64_t begin_of(std::int64_t block, int parameter) const {
    return (block - (parameter == 0 ? 0 : ends[parameter - 1])) * kBlock;
  }
};

}  // namespace moe
