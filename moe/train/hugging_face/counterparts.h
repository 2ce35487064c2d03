#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/train/hugging_face/family.h"

namespace moe {

/// A tensor of transformers and the part of a matrix here that it is. Linear layers are [outputs,
/// inputs] there and [inputs, outputs] here.
struct Counterpart {
  std::string theirs;
  std::vector<std::int64_t> shape;  ///< of theirs
  std::string ours;                 ///< as a checkpoint names it; "": theirs is all zeros
  bool transposed = false;
  std::int64_t first_column = 0;  ///< of ours, where it begins there
  double factor = 1;              ///< of theirs in terms of ours
};

struct Counterparts {
  std::vector<Counterpart> tensors;
  /// Of ours, those that have none there: they must be zero.
  std::vector<std::string> zeros;
};

/// All of a model that fits the family. In qwen2_moe shared experts are written beside a gate of
/// zeros, whose sigmoid is 1/2, with a `down` of twice their own.
Counterparts counterparts(const Model& model, Family family);

}  // namespace moe
