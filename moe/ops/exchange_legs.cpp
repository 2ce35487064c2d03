#include "moe/ops/exchange_legs.h"

#include "moe/ops/row_bytes.h"
#include "moe/rows/leg.h"
#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// The segments that are exchanged with the group of ranks `ahead` groups after this rank's group.
std::vector<Segment> with_group_ahead(std::vector<Segment> segments, const RowLayout& layout,
                                      int ranks_per_group, int ahead) {
  const int groups = static_cast<int>(layout.received.size()) / ranks_per_group;
  const int wanted = (layout.self / ranks_per_group + ahead + groups) % groups;
  std::erase_if(segments,
                [&](const Segment& segment) { return segment.peer / ranks_per_group != wanted; });
  return segments;
}

}  // namespace

std::vector<Segment> ExchangeInNode::sends(const RowLayout& layout, Slice slice) const {
  return leg_sends(layout, slice, from, to, group);
}
std::vector<Segment> ExchangeInNode::receives(const RowLayout& layout, Slice slice) const {
  return leg_receives(layout, slice, from, to, group);
}
Work ExchangeInNode::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> ExchangeInNode::bytes_to_peers(const OpSizes& s) const {
  return row_bytes_to_peers(*this, s);
}

std::vector<Segment> ExchangeAcrossNodes::sends(const RowLayout& layout, Slice slice) const {
  return leg_sends(layout, slice, from, to, group);
}
std::vector<Segment> ExchangeAcrossNodes::receives(const RowLayout& layout, Slice slice) const {
  return leg_receives(layout, slice, from, to, group);
}
Work ExchangeAcrossNodes::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> ExchangeAcrossNodes::bytes_to_peers(const OpSizes& s) const {
  return row_bytes_to_peers(*this, s);
}

std::vector<Segment> ExchangeStep::sends(const RowLayout& layout, Slice slice) const {
  const AllToAll whole{direction, group};
  return with_group_ahead(whole.sends(layout, slice), layout, ranks_per_group,
                          direction == Direction::dispatch ? step : -step);
}
std::vector<Segment> ExchangeStep::receives(const RowLayout& layout, Slice slice) const {
  const AllToAll whole{direction, group};
  return with_group_ahead(whole.receives(layout, slice), layout, ranks_per_group,
                          direction == Direction::dispatch ? -step : step);
}
Work ExchangeStep::work(const OpSizes& s) const { return s.sent(bytes_to_peers(s)); }
std::vector<std::int64_t> ExchangeStep::bytes_to_peers(const OpSizes& s) const {
  return row_bytes_to_peers(*this, s);
}

}  // namespace moe
