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

}  // namespace

Work ExpertLinear::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.out(0)),
                   local_experts + replica_slots);
}
Work ExpertLinearInputGradient::work(const OpSizes& s) const {
  return s.product(s.rows(s.in(0)), s.columns(s.in(0)), s.columns(s.out(0)),
                   local_experts + replica_slots);
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
