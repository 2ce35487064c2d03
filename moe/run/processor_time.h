#pragma once

#include <span>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/communicator/ranks.h"

namespace moe {

/// The processor time of this computer since it started, in seconds.
struct ProcessorTime {
  double at_s = 0;    ///< steady clock
  double busy_s = 0;  ///< all processors and processes, with time that a hypervisor gave to others
  double own_s = 0;   ///< this process
  int processors = 1;
};

ProcessorTime processor_time();
/// What was used between the two.
ProcessorTime operator-(const ProcessorTime& after, const ProcessorTime& before);

/// [rank]: the share of the processor time of the rank's machine, 0 to 1, that processes other than
/// the ranks used while ranks used `used`. Nodes under one kernel are one machine, as /proc/stat
/// tells of all of them. A processor's last tick is not counted, since nobody knows whose it was.
std::vector<double> shares_of_others(std::span<const ProcessorTime> used,
                                     std::span<const RankInfo> ranks);

/// The same of all ranks, where this one used `mine`. Collective.
std::vector<double> shares_of_others(Communicator& world, const ProcessorTime& mine,
                                     std::span<const RankInfo> ranks, double time_limit_s);

}  // namespace moe
