#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/passes/restore_activation.h"
#include "tuner/planners/situation/planner.h"

namespace tuner::mpmoe {

/// Restores in backward the contents of buffers that chunks overwrite. [MPMoE Table 2, printed]
struct Strategy {
  std::string_view name;
  moe::RestoreDispatched dispatched;  ///< T_DI
  moe::RestoreHidden hidden;          ///< T_M
};
inline constexpr std::array<Strategy, 4> kStrategies{
    {{"S1", moe::RestoreDispatched::offload, moe::RestoreHidden::offload},
     {"S2", moe::RestoreDispatched::communicate, moe::RestoreHidden::offload},
     {"S3", moe::RestoreDispatched::offload, moe::RestoreHidden::recompute},
     {"S4", moe::RestoreDispatched::communicate, moe::RestoreHidden::recompute}}};

/// Cuts every MoE layer into n partitions, forward and backward. The exchange has its own stream,
/// and buffers are shared and restored by the strategy. Empty where a layer of the Program does not
/// allow that (restore_activation.h).
std::optional<moe::Schedule> reuse_schedule(const moe::Program& program, std::string planner, int n,
                                            const Strategy& strategy);

/// The strategy of a schedule: "S3"; "" where no layer shares buffers.
std::string_view strategy_of(const moe::Schedule& schedule);

/// A configuration (n, S) with its time.
struct Rated {
  moe::Schedule schedule;
  double seconds = 0;  ///< time of an iteration: measured, simulated or by the performance model
};

/// The configuration with the least planned peak. `rated` is not empty.
const Rated& of_least_memory(const Situation& situation, const std::vector<Rated>& rated);

}  // namespace tuner::mpmoe
