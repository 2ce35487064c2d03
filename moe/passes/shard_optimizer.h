#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Every rank updates its share of the parameters that ranks hold copies of, and has optimizer
/// states of that share alone. [Rajbhandari et al. 2020, ZeRO, stage 1]
struct ShardOptimizer {
  static constexpr std::string_view name = "shard_optimizer";
  static constexpr std::string_view description =
      "updates a share of the parameters on each of the ranks that hold copies";
  static constexpr bool changes_results = false;
  friend auto operator<=>(const ShardOptimizer&, const ShardOptimizer&) = default;
  static ShardOptimizer read(const InputObject& input);
};
void write(nlohmann::json& object, const ShardOptimizer& sharding);
std::string subject(const ShardOptimizer& sharding);

/// Runs after the decisions that make and cut ops of backward, before those that move all-reduces.
/// Every all-reduce of gradients becomes a reduce_shares, which sums as the all-reduce does. The
/// optimizer's steps update the rank's share of each parameter, and their states shrink to it, a
/// remainder among them. After the last step of the parameters that one op reduces, gather_shares
/// brings all shares to all ranks. Squares of gradients are those of shares.
///
/// Where a communicator adds in rank order not a bit changes, but where gradients are clipped: the
/// squares of the norm are added in another order.
///
/// Throws Refusal where no two ranks hold copies of a parameter.
Program apply(Program program, const ShardOptimizer& sharding);

}  // namespace moe
