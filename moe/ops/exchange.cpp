#include "moe/ops/exchange.h"

#include "moe/ops/row_bytes.h"
#include "moe/rows/op_sizes.h"

namespace moe {

Work ExchangeCounts::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }

/// All-gather of kept and asked-for copies: everyone's go to everyone.
std::vector<std::int64_t> ExchangeCounts::bytes_to_peers(const OpSizes& s) const {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(stage_ranks(s.groups)),
                                  2 * experts * bytes_of(DType::i32));
  bytes[rank_in_stage(s.groups, s.rank)] = 0;
  return bytes;
}

Work Permute::work(const OpSizes& s) const { return s.gathered(s.out(0)); }
Work PermuteGradient::work(const OpSizes& s) const { return s.element_wise(s.out(0), 1); }

Work AllToAll::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> AllToAll::bytes_to_peers(const OpSizes& s) const {
  return row_bytes_to_peers(*this, s);
}
std::vector<Segment> AllToAll::sends(const RowLayout& layout, Slice slice) const {
  return direction == Direction::dispatch ? sent_segments(layout, slice)
                                          : received_segments(layout, slice);
}
std::vector<Segment> AllToAll::receives(const RowLayout& layout, Slice slice) const {
  return direction == Direction::dispatch ? received_segments(layout, slice)
                                          : sent_segments(layout, slice);
}

Work GatherRows::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> GatherRows::bytes_to_peers(const OpSizes& s) const {
  return row_bytes_to_peers(*this, s);
}
std::vector<Segment> GatherRows::sends(const RowLayout& layout, Slice slice) const {
  return shared_segments(layout, slice);
}
std::vector<Segment> GatherRows::receives(const RowLayout& layout, Slice slice) const {
  return gathered_segments(layout, slice);
}

Work ScatterRows::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> ScatterRows::bytes_to_peers(const OpSizes& s) const {
  return row_bytes_to_peers(*this, s);
}
std::vector<Segment> ScatterRows::sends(const RowLayout& layout, Slice slice) const {
  return gathered_segments(layout, slice);
}
std::vector<Segment> ScatterRows::receives(const RowLayout& layout, Slice slice) const {
  return scattered_segments(layout, slice);
}

Work SumShares::work(const OpSizes& s) const { return s.element_wise(s.in(0), 1); }

Work Combine::work(const OpSizes& s) const { return s.element_wise(s.out(0), 2); }
Work CombineInputGradient::work(const OpSizes& s) const { return s.gathered(s.out(0)); }
Work CombineWeightGradient::work(const OpSizes& s) const { return s.element_wise(s.in(1), 2); }

}  // namespace moe
