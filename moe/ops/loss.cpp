#include "moe/ops/loss.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work CrossEntropy::work(const OpSizes& s) const { return s.element_wise(s.in(0), 6); }
Work CrossEntropyGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 6); }

Work VocabularyStatistics::work(const OpSizes& s) const { return s.element_wise(s.in(0), 6); }
Work SharedCrossEntropy::work(const OpSizes& s) const { return s.element_wise(s.in(0), 6); }

}  // namespace moe
