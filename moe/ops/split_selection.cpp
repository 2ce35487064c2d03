#include "moe/ops/split_selection.h"

#include "moe/rows/op_sizes.h"

namespace moe {

/// Every expert looks at every copy.
Work SplitSelection::work(const OpSizes& s) const { return s.element_wise(s.in(0), experts); }

}  // namespace moe
