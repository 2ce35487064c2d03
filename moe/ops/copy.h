#pragma once

#include "moe/rows/op_facts.h"

/// Copies of routed rows between the device's memory and the host's (Pool), which run on a stream of their own
/// beside what computes and communicates: R rows of one slice, M columns.
namespace moe {

/// rows[R,M] on the device -> kept[R,M] on the host
struct OffloadRows {
  static constexpr OpFacts facts{"offload_rows",  Executor::kernel, Activity::copy,
                                 CostUnit::bytes, {Cut::rows},      {Cut::rows}};
  Work work(const OpSizes& sizes) const;
};
/// kept[R,M] on the host, after[.,.] (none of it is looked at) -> rows[R,M] on the device. Begins once `after` is
/// there, so that memory is not taken earlier than that.
struct FetchRows {
  static constexpr OpFacts facts{"fetch_rows",    Executor::kernel,        Activity::copy,
                                 CostUnit::bytes, {Cut::rows, Cut::whole}, {Cut::rows}};
  Work work(const OpSizes& sizes) const;
};
/// kept[R,M] on the host -> nothing: what comes behind it on its stream starts once the copy has ended, and with it
/// the memory that was copied from can be used again.
struct AwaitCopies {
  static constexpr OpFacts facts =
      kernel_op("await_copies", CostUnit::bytes, Operands::any_number(Cut::whole), {});
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
