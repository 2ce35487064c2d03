#pragma once

namespace tuner {

/// What the processors of this computer have done since it started, and whom for. Seconds.
struct ProcessorTime {
  double at_s = 0;    ///< steady clock
  double busy_s = 0;  ///< all processors, all processes, and what a hypervisor gave to others
  double own_s = 0;   ///< this process and the children it has waited for, with theirs
  int processors = 1;
};

ProcessorTime processor_time();

/// Share of the processors' time, 0 to 1, that went to processes other than this one and its
/// children. Children count once they have been waited for.
double share_of_others(const ProcessorTime& before, const ProcessorTime& after);

}  // namespace tuner
