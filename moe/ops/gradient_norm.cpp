#include "moe/ops/gradient_norm.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// Work of ops that do `flops` on every element they read, in a kernel for each tensor.
Work for_each_read(const OpSizes& s, double flops) {
  Work work{0, s.all_bytes(), 0, static_cast<std::int64_t>(s.reads.size())};
  for (const Use& use : s.reads) work.flops += flops * s.rows(use) * s.columns(use);
  return work;
}

}  // namespace

Work SumSquares::work(const OpSizes& s) const { return for_each_read(s, 2); }
Work AddSquares::work(const OpSizes& s) const { return for_each_read(s, 1); }
Work ReduceNorm::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> ReduceNorm::bytes_to_peers(const OpSizes& s) const {
  const auto n = static_cast<std::int64_t>(group_size(s.groups, group));
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(n));
  if (n > 1) {
    bytes[(index_in_group(s.groups, group, s.rank) + 1) % n] = 2 * (n - 1) * s.bytes(s.out(0)) / n;
  }
  return bytes;
}

Work ClipFactor::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }

}  // namespace moe
