#include "moe/ops/update.h"

#include "moe/rows/element_share.h"
#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// The bytes of the shares that a member of the group owns of what the op writes.
std::int64_t bytes_of_shares(const OpSizes& s, int member, int ranks) {
  std::int64_t bytes = 0;
  for (const Use& use : s.writes) {
    const Tensor& tensor = s.tensor(use);
    bytes += element_share({0, tensor.rows * tensor.columns}, member, ranks).count *
             bytes_of(tensor.dtype);
  }
  return bytes;
}

}  // namespace

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

Work ReduceShares::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> ReduceShares::bytes_to_peers(const OpSizes& s) const {
  const int ranks = group_size(s.groups, group), own = index_in_group(s.groups, group, s.rank);
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks));
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != own) bytes[static_cast<std::size_t>(peer)] = bytes_of_shares(s, peer, ranks);
  }
  return bytes;
}

Work GatherShares::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> GatherShares::bytes_to_peers(const OpSizes& s) const {
  const int ranks = group_size(s.groups, group), own = index_in_group(s.groups, group, s.rank);
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks), bytes_of_shares(s, own, ranks));
  bytes[static_cast<std::size_t>(own)] = 0;
  return bytes;
}

Work AdamStep::work(const OpSizes& s) const { return s.element_wise(s.out(0), 12); }
Work SgdStep::work(const OpSizes& s) const { return s.element_wise(s.out(0), 4); }

}  // namespace moe
