#pragma once

#include <string>

#include "moe/model/model.h"
#include "moe/rows/layout.h"

namespace moe {

/// Equal groups of the global batch with a capacity each: Model::capacity_groups, or, where that is
/// 0, one for each rank of a stage and micro-batch.
int capacity_groups(const Model& model, const Layout& layout);

/// How a training whose model leaves the number open (capacity_groups = 0) takes over that of the
/// training it goes on from.
struct TakenGroups {
  int groups = 0;      ///< for Model::capacity_groups; 0: it stays open
  std::string remark;  ///< why it is another number from here on; "" where it is the same
};

/// True where experts have a capacity, so that these groups are part of what the model computes.
bool has_capacity(const Model& model);

/// `before`: the number in force up to `iteration`; 0 where there was no capacity.
TakenGroups taken_groups(int before, int iteration, const Model& model, const Layout& layout);

}  // namespace moe
