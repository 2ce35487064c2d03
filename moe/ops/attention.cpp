#include "moe/ops/attention.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// Products of L x L by head width for every head of every sequence; causal: half of each.
Work attention_work(const OpSizes& s, const Use& attended, int heads, std::int64_t length,
                    int products) {
  const auto sequences = static_cast<std::int64_t>(s.rows(attended)) / length;
  return {products * s.rows(attended) * static_cast<double>(length) * s.columns(attended),
          s.all_bytes(), 0, products * sequences * heads};
}

}  // namespace

Work Attention::work(const OpSizes& s) const {
  return attention_work(s, s.out(0), heads, sequence_length, 2);
}
Work AttentionGradient::work(const OpSizes& s) const {
  return attention_work(s, s.in(0), heads, sequence_length, 4);
}

}  // namespace moe
