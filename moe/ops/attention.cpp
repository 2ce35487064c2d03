#include "moe/ops/attention.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// Products of L x L by head width for every head of every sequence; causal: half of each. A GPU
/// takes all heads of keys and values of a sequence in one batched product (kernels/attention.h),
/// block of queries by block, and has a softmax beside the products.
template <class Kind>
Work attention_work(const OpSizes& s, const Use& attended, const Kind& kind, int products) {
  const std::int64_t length = kind.sequence_length;
  const auto sequences = static_cast<std::int64_t>(s.rows(attended)) / length;
  const std::int64_t blocks = (length + kGpuQueryBlock - 1) / kGpuQueryBlock;
  return {products * s.rows(attended) * static_cast<double>(length) * s.columns(attended),
          s.all_bytes(), 0, products * sequences * kind.heads,
          (products + 1) * sequences * (kind.heads / kind.key_value_heads) * blocks};
}

}  // namespace

Work Attention::work(const OpSizes& s) const { return attention_work(s, s.out(0), *this, 2); }
Work AttentionGradient::work(const OpSizes& s) const {
  return attention_work(s, s.in(0), *this, 4);
}

}  // namespace moe
