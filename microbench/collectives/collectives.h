#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "microbench/benchmarks.h"
#include "moe/ops/collective.h"

/// The collectives of moe::Communicator, one a file. Each makes the case of one size: S bytes (see
/// moe/ops/collective.h), rounded down to whole elements on every rank, but at least one.
namespace microbench {

Case all_to_all_case(const Bench& bench, std::int64_t bytes);
/// Rank 0 is sent twice the mean and everybody else less, as when one rank holds the popular
/// experts: imbalance (busiest over mean) 2n/(n+1). S is what rank 0 receives, itself included.
Case all_to_all_v_case(const Bench& bench, std::int64_t bytes);
Case all_gather_case(const Bench& bench, std::int64_t bytes);
Case reduce_scatter_case(const Bench& bench, std::int64_t bytes);
/// Adds zeros while it is timed, so that repeated sums in place stay finite.
Case all_reduce_case(const Bench& bench, std::int64_t bytes);
Case broadcast_case(const Bench& bench, std::int64_t bytes);

/// Names as in the result database: "all_to_all", "all_to_all_v", ...
const std::vector<std::string>& collective_names();

/// Every named collective (all when empty) × sizes. Throws moe::Refusal for an unknown
/// name.
std::vector<Plan> collective_plans(const Bench& bench, const std::vector<std::string>& names,
                                   const std::vector<std::int64_t>& sizes);

/// "collectives", with the choice among them as its option.
Benchmark collective_benchmark();

const std::vector<Column>& collective_columns();

// --- what the cases share ------------------------------------------------------------------------

/// Row, timing and arena of a collective whose buffers hold `counts` elements each.
struct CollectiveCase {
  const Bench* bench;
  std::vector<std::byte*> buffers;
  moe::CallContext call;
  moe::DType dtype;

  CollectiveCase(const Bench& bench, moe::Collective collective,
                 const std::vector<std::int64_t>& counts);
  TimedCalls timed(std::function<void()> one_call) const;
};

/// The row of `collective` with S = `total_count` elements, of which nccl-tests' count column shows
/// `count`.
Result collective_row(const Bench& bench, moe::Collective collective, std::int64_t total_count,
                      std::int64_t count);

/// Elements in `bytes`, a multiple of `multiple`, at least one of it.
std::int64_t whole_elements(const Bench& bench, std::int64_t bytes, int multiple);

}  // namespace microbench
