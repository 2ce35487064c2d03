#include "moe/ops/exchange.h"

#include "moe/program/op_sizes.h"

namespace moe {
namespace {

/// Bytes that segments of rows of the op's first operand carry to each of `members` peers.
std::vector<std::int64_t> segment_bytes(const OpSizes& s, const std::vector<Segment>& segments,
                                        std::size_t members, int self) {
  const Tensor& tensor = s.tensor(s.in(0));
  std::vector<std::int64_t> bytes(members);
  for (const Segment& segment : segments) {
    if (segment.peer != self) {
      bytes[static_cast<std::size_t>(segment.peer)] +=
          segment.rows * tensor.columns * bytes_of(tensor.dtype);
    }
  }
  return bytes;
}

}  // namespace

Work ExchangeCounts::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

/// All-gather of kept and asked-for copies: everyone's go to everyone.
std::vector<std::int64_t> ExchangeCounts::bytes_to_peers(const OpSizes& s) const {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(s.groups.ranks),
                                  2 * experts * bytes_of(DType::i32));
  bytes[static_cast<std::size_t>(s.rank)] = 0;
  return bytes;
}

Work Permute::work(const OpSizes& s) const { return s.gathered(s.out(0)); }
Work PermuteGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }

Work AllToAll::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> AllToAll::bytes_to_peers(const OpSizes& s) const {
  const RowLayout& layout = s.binding.layouts.at(s.op.layer);
  return segment_bytes(s,
                       direction == Direction::dispatch ? sent_segments(layout, s.in(0).slice)
                                                        : received_segments(layout, s.in(0).slice),
                       layout.received.size(), layout.self);
}

Work GatherRows::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> GatherRows::bytes_to_peers(const OpSizes& s) const {
  const RowLayout& layout = s.binding.layouts.at(s.op.layer);
  return segment_bytes(s, shared_segments(layout, s.in(0).slice), layout.shared_rows.size(),
                       layout.shard);
}

Work ScatterRows::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

std::vector<std::int64_t> ScatterRows::bytes_to_peers(const OpSizes& s) const {
  const RowLayout& layout = s.binding.layouts.at(s.op.layer);
  return segment_bytes(s, gathered_segments(layout, s.in(0).slice), layout.shared_rows.size(),
                       layout.shard);
}

Work SumShares::work(const OpSizes& s) const { return s.element_wise(s.in(0), 1); }

Work Combine::work(const OpSizes& s) const { return s.element_wise(s.out(0), 2); }
Work CombineInputGradient::work(const OpSizes& s) const { return s.gathered(s.out(0)); }
Work CombineWeightGradient::work(const OpSizes& s) const { return s.element_wise(s.in(1), 2); }

}  // namespace moe
