#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "moe/passes/restore_activation.h"
#include "moe/passes/schedule.h"
#include "moe/program/program.h"

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

}  // namespace tuner::mpmoe
