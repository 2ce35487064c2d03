#include "moe/ops/padding.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work PadOffsets::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }
Work ClearPadding::work(const OpSizes& s) const { return {0, s.bytes(s.out(0))}; }

}  // namespace moe
