#include "moe/ops/pass_on.h"

#include "moe/rows/op_sizes.h"

namespace moe {

Work PassOn::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> PassOn::bytes_to_peers(const OpSizes& s) const {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(group_size(s.groups, group)));
  if (stage_of(s.groups, s.rank) == s.stage) {
    const int self = index_in_group(s.groups, group, s.rank);
    bytes[1 - self] = s.bytes(s.in(0));
  }
  return bytes;
}

}  // namespace moe
