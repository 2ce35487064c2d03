#include "moe/train/step_flops.h"

#include <utility>

#include "moe/program/row_handling.h"
#include "moe/program/work.h"

namespace moe {

StepFlops::StepFlops(Program program, Groups groups, int rank)
    : program_(std::move(program)), groups_(std::move(groups)), rank_(rank) {
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    const Op& op = program_.ops[i];
    if (facts_of(op).unit != CostUnit::flops) continue;
    if (uses_routed_rows(program_, op)) {
      ops_.push_back(i);
    } else {
      fixed_ += work_of(program_, op, {}, groups_, rank_).flops;
    }
  }
}

double StepFlops::under(const Routing& routing) const {
  double flops = fixed_;
  if (ops_.empty()) return flops;
  const Binding binding = AllRoutedRows(program_, routing).bind(groups_, rank_);
  for (const std::size_t i : ops_) {
    flops += work_of(program_, program_.ops[i], binding, groups_, rank_).flops;
  }
  return flops;
}

}  // namespace moe
