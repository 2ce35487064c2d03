#pragma once

namespace tuner {

/// The processor time of this computer since it started, in seconds.
struct ProcessorTime {
  double at_s = 0;    ///< steady clock
  double busy_s = 0;  ///< all processors and processes, with time that a hypervisor gave to others
  double own_s = 0;   ///< this process, the children it has waited for, and their children
  int processors = 1;
};

ProcessorTime processor_time();

/// The share of processor time, 0 to 1, that processes other than this one and its children used.
/// Children count once they have been waited for.
double share_of_others(const ProcessorTime& before, const ProcessorTime& after);

}  // namespace tuner
