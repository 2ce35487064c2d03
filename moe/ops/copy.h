#pragma once

#include "moe/rows/op_facts.h"

/// Copies of routed rows between the device's memory and the host's (Pool). They run on a stream of
/// their own, while other ops compute and communicate. R rows of one slice, M columns.
namespace moe {

/// rows[R,M] on the device -> kept[R,M] on the host
struct OffloadRows {
  static constexpr OpFacts facts{"offload_rows",  Executor::kernel,    Activity::copy,
                                 CostUnit::bytes, {either(Cut::rows)}, {either(Cut::rows)}};
  Work work(const OpSizes& sizes) const;
};
/// kept[R,M] on the host, after[.,.] -> rows[R,M] on the device. Does not read `after`, but begins
/// only once it is written, so that the rows do not take memory earlier.
struct FetchRows {
  static constexpr OpFacts facts{"fetch_rows",
                                 Executor::kernel,
                                 Activity::copy,
                                 CostUnit::bytes,
                                 {either(Cut::rows), either(Cut::whole)},
                                 {either(Cut::rows)}};
  Work work(const OpSizes& sizes) const;
};
/// kept[R,M] on the host -> nothing. Later ops on its stream start once the copy has ended, so that
/// they can use the memory that was copied from.
struct AwaitCopies {
  static constexpr OpFacts facts =
      kernel_op("await_copies", CostUnit::bytes, Operands::any_number(either(Cut::whole)), {});
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
