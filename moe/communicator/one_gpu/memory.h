#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "moe/rows/tensor.h"

/// Copies and sums of memory of one device; without fmt, which nvcc does not compile.
namespace moe::one_gpu {

struct Copy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::int64_t bytes = 0;
};

/// to[i] = the sum of parts: first those of each set in order, then the sums of the sets. `to` may
/// be one of the parts.
struct Sum {
  void* to = nullptr;
  std::vector<std::vector<const void*>> sets;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  bool rounds_each = false;  ///< after each addition, as ranks of a chain do; else once
};

}  // namespace moe::one_gpu
