#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "microbench/benchmarks.h"
#include "moe/communicator/collective_call.h"

/// The collectives of moe::Communicator, one a file: the call, and what must come out of it. What
/// they share (buffers, sizes, timing, the check) is collective_case.cpp. S and the bandwidths are
/// those of db/collective_facts.h.
namespace microbench {

/// The value of element i of an array.
using Element = std::function<std::int64_t(std::int64_t i)>;

/// A collective as one rank sees it.
struct CollectivePart {
  moe::collective::Call call;  ///< without its buffers, segments and dtype
  std::int64_t count = 0;      ///< elements as nccl-tests shows them
  std::int64_t sent = 0;       ///< elements of the buffer that is read
  std::int64_t received = 0;   ///< elements of the buffer that is written; 0 for a call in place
  Element before;              ///< of the buffer that is read
  Element after;               ///< of the buffer that is written, or of the one buffer
  std::vector<moe::Segment> send = {}, receive = {};  ///< of an all-to-all-v
  bool sums = false;
  int root = -1;
  std::string parameters_json = "{}";
};

/// A collective that moe-bench measures.
struct MeasuredCollective {
  /// S is a whole multiple of so many elements; 1 where it is empty.
  std::function<int(int ranks)> multiple;
  /// The call of rank bench.world.rank where S is `count` elements.
  std::function<CollectivePart(const Bench& bench, std::int64_t count)> part;
};

// clang-format off
/// Every collective, by its name in the result database and in moe/ops/collective.cpp. A new one is
/// collectives/NAME.cpp with `MeasuredCollective measured_NAME()`, and its line here.
#define MICROBENCH_COLLECTIVES(collective) \
  collective(all_to_all)                   \
  collective(all_to_all_v)                 \
  collective(all_gather)                   \
  collective(reduce_scatter)               \
  collective(all_reduce)                   \
  collective(broadcast)                    \
  collective(reduce)                       \
  /* a new one goes above */
// clang-format on

#define MICROBENCH_DECLARE_COLLECTIVE(name) MeasuredCollective measured_##name();
MICROBENCH_COLLECTIVES(MICROBENCH_DECLARE_COLLECTIVE)
#undef MICROBENCH_DECLARE_COLLECTIVE

/// "all_to_all", "all_to_all_v", ...
const std::vector<std::string>& collective_names();

/// The case of one collective with S = `bytes`, rounded down to whole elements on every rank, at
/// least one. Sums in place add zeros while they are timed, so that they stay finite. Throws
/// std::invalid_argument for an unknown name.
Case collective_case(const Bench& bench, std::string_view name, std::int64_t bytes);
/// The same of a collective that has no name of its own there.
Case collective_case(const Bench& bench, const std::string& name,
                     const MeasuredCollective& measured, std::int64_t bytes);

/// Every named collective (all when empty) × sizes; all_to_all_v with the shares of `routing`,
/// whose file is `routing_text` (exchange_matrix.h), unless that is empty. Sizes in which such
/// shares send nothing are left out, which rank 0 says. Where ranks have cores for that, cases of
/// at most kAwakeBytes are also timed while ranks wait without sleeping. Throws moe::Refusal for an
/// unknown name, moe::InputError for a wrong routing.
std::vector<Plan> collective_plans(const Bench& bench, const std::vector<std::string>& names,
                                   const std::vector<std::int64_t>& sizes,
                                   const std::string& routing = "",
                                   std::string_view routing_text = "");
inline constexpr std::int64_t kAwakeBytes = std::int64_t{64} << 10;

/// "collectives", with the choice among them as its option.
Benchmark collective_benchmark();

const std::vector<Column>& collective_columns();
const std::vector<Column>& awake_columns();  ///< the last of their table

}  // namespace microbench
