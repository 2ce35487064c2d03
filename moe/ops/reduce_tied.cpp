#include "moe/ops/reduce_tied.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work ReduceTied::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> ReduceTied::bytes_to_peers(const OpSizes& s) const {
  std::vector<std::int64_t> bytes(2);
  bytes[static_cast<std::size_t>(1 - index_in_group(s.groups, group, s.rank))] = s.bytes(s.out(0));
  return bytes;
}

}  // namespace moe
