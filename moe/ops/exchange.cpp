#include "moe/ops/exchange.h"

#include "moe/program/op_sizes.h"

namespace moe {

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
  const Use& from = s.in(0);
  const std::int64_t row_bytes = s.tensor(from).columns * bytes_of(s.tensor(from).dtype);
  std::vector<std::int64_t> bytes(layout.received.size());
  for (const Segment& segment : direction == Direction::dispatch
                                    ? sent_segments(layout, from.slice)
                                    : received_segments(layout, from.slice))
    if (segment.peer != layout.self)
      bytes[static_cast<std::size_t>(segment.peer)] += segment.rows * row_bytes;
  return bytes;
}

Work Combine::work(const OpSizes& s) const { return s.element_wise(s.out(0), 2); }
Work CombineInputGradient::work(const OpSizes& s) const { return s.gathered(s.out(0)); }
Work CombineWeightGradient::work(const OpSizes& s) const { return s.element_wise(s.in(1), 2); }

}  // namespace moe
