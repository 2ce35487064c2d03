#include "moe/ops/expert.h"

#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// Rows of so many experts from a slot on, of the rows that an op uses.
double rows_of_experts(const OpSizes& s, const Use& use, int first, int count) {
  const Rows rows_are = s.tensor(use).rows_are;
  if (rows_are == Rows::fixed) return s.rows(use);
  const RowLayout& layout = s.binding.layouts.at(s.routed_layer);
  const auto ranges = rows_are == Rows::gathered ? gathered_expert_rows(layout, use.slice)
                                                 : expert_rows(layout, use.slice);
  std::int64_t rows = 0;
  for (int i = first; i < first + count; ++i) rows += ranges.at(static_cast<std::size_t>(i)).rows;
  return static_cast<double>(rows);
}

/// The work of a product with the weights in a rank's slots, those for its own experts before those
/// for replicas. Where one of its own is empty, nothing is read there.
Work work_of_slots(const OpSizes& s, int local_experts, int replica_slots) {
  Work work = s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.out(0)),
                        local_experts + replica_slots);
  if (s.tensor(s.in(0)).rows_are == Rows::fixed) return work;
  const ExpertSlots& slots = s.binding.layouts.at(s.routed_layer).slots;
  const std::int64_t empty =
      local_experts - slots.in_order.held_by(index_in_group(s.groups, GroupKind::expert, s.rank));
  const std::size_t own = (s.reads.size() - 1) / (replica_slots > 0 ? 2 : 1);
  for (std::size_t i = 1; i <= own; ++i) {
    work.memory_bytes -= s.bytes(s.in(i)) / local_experts * empty;
  }
  work.calls -= empty;
  return work;
}

}  // namespace

Work ExpertLinear::work(const OpSizes& s) const {
  return work_of_slots(s, local_experts, replica_slots);
}
Work ExpertLinearInputGradient::work(const OpSizes& s) const {
  return work_of_slots(s, local_experts, replica_slots);
}
Work ExpertLinearWeightGradient::work(const OpSizes& s) const {
  const double rows = rows_of_experts(s, s.in(0), first_slot, local_experts);
  Work work = s.product(rows, s.columns(s.in(0)), s.columns(s.in(1)), local_experts);
  const auto others = static_cast<std::int64_t>(s.rows(s.in(0)) - rows);
  const std::int64_t columns = s.tensor(s.in(0)).columns + s.tensor(s.in(1)).columns;
  work.memory_bytes -= others * columns * bytes_of(s.tensor(s.in(0)).dtype);
  return work;
}

}  // namespace moe
