#include "moe/ops/expert_replicas.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

template <class Kind>
std::vector<std::int64_t> moved_bytes(const Kind& kind, const OpSizes& s) {
  const int members = group_size(s.groups, kind.group);
  const int self = index_in_group(s.groups, kind.group, s.rank);
  const ExpertSlots slots = kind.slots(members, s.binding, s.routed_layer);
  std::int64_t block_bytes = 0;  // of all tensors together
  for (std::size_t i = 0; i < s.writes.size(); ++i) {
    const Tensor& tensor = s.tensor(s.in(i));
    const std::int64_t rows = kind.block_rows(tensor.rows, slots);
    block_bytes += elements_of(rows, tensor.columns, 0, kind.share).count * bytes_of(tensor.dtype);
  }
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(members));
  for (const ExpertMove& move : kind.moves(slots)) {
    if (move.from == self) bytes[move.to] += block_bytes;
  }
  return bytes;
}

}  // namespace

Work SendExperts::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> SendExperts::bytes_to_peers(const OpSizes& s) const {
  return moved_bytes(*this, s);
}

Work ReturnGradients::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> ReturnGradients::bytes_to_peers(const OpSizes& s) const {
  return moved_bytes(*this, s);
}

/// Reads the blocks that are returned to this rank, and reads and writes the gradients to which
/// they are added.
Work AddReturned::work(const OpSizes& s) const {
  const int members = s.groups.layout.expert;
  const auto returned =
      static_cast<std::int64_t>(blocks(slots(members, s.binding, s.routed_layer),
                                       index_in_group(s.groups, GroupKind::expert, s.rank))
                                    .size());
  Work work;
  for (const Use& use : s.writes) {
    const std::int64_t block_bytes = s.bytes(use) / local_experts;
    work.memory_bytes += 3 * returned * block_bytes;
    work.flops += static_cast<double>(returned * block_bytes / bytes_of(s.tensor(use).dtype));
  }
  work.calls = returned * static_cast<std::int64_t>(s.writes.size());
  return work;
}

}  // namespace moe
