#include "moe/ops/update.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work AllReduce::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> AllReduce::bytes_to_peers(const OpSizes& s) const {
  const auto n = static_cast<std::int64_t>(group_size(s.groups, group));
  std::int64_t reduced = 0;
  for (const Use& use : s.writes) reduced += s.bytes(use);
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(n));
  if (n > 1) {
    bytes[(index_in_group(s.groups, group, s.rank) + 1) % n] = 2 * (n - 1) * reduced / n;
  }
  return bytes;
}

Work AdamStep::work(const OpSizes& s) const { return s.element_wise(s.out(0), 12); }
Work SgdStep::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }

}  // namespace moe
