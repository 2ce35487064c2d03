#include "moe/ops/tensor_parallel.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// The same number of bytes to every other member of the group.
std::vector<std::int64_t> to_all(const OpSizes& s, GroupKind group, std::int64_t bytes) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(group_size(s.groups, group)), bytes);
  result[index_in_group(s.groups, group, s.rank)] = 0;
  return result;
}

}  // namespace

Work AllGather::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> AllGather::bytes_to_peers(const OpSizes& s) const {
  return to_all(s, group, s.bytes(s.in(0)));
}

Work ReduceScatter::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> ReduceScatter::bytes_to_peers(const OpSizes& s) const {
  return to_all(s, group, s.bytes(s.out(0)));
}

}  // namespace moe
