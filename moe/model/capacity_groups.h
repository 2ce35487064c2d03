#pragma once

#include <string>

#include "moe/model/model.h"
#include "moe/rows/layout.h"

namespace moe {

/// Equal groups of the global batch whose tokens are routed together: Model::capacity_groups, or,
/// where that is 0, one for each rank of a stage and micro-batch.
int capacity_groups(const Model& model, const Layout& layout);

/// How a training whose model leaves the number open (capacity_groups = 0) takes over that of the
/// training it goes on from.
struct TakenGroups {
  int groups = 0;      ///< for Model::capacity_groups; 0: it stays open
  std::string remark;  ///< why it is another number from here on; "" where it is the same
};

/// True where these groups are part of what the model computes: experts have a capacity, or the
/// gate looks at all tokens of a group.
bool routes_by_groups(const Model& model);

/// `before`: the number in force up to `iteration`; 0 where groups were no part of it.
TakenGroups taken_groups(int before, int iteration, const Model& model, const Layout& layout);

}  // namespace moe
