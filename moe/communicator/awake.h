#pragma once

namespace moe {

/// While one lives, threads of this process that wait for messages of MPI look again and again
/// without sleeping, until kLongestAwake_s have passed. For where every thread has a core: a
/// message then costs what it costs the fabric, while a sleep costs tens of microseconds.
class WaitsAwake {
 public:
  WaitsAwake();
  ~WaitsAwake();
  WaitsAwake(const WaitsAwake&) = delete;
  WaitsAwake& operator=(const WaitsAwake&) = delete;
};

/// Whether one lives, and no core was wanted by others in the last kSleepAfterWanted_s.
bool waits_awake();

/// Notes that another thread ran when one that waited awake let it: others want its core. Without
/// sleeps it would soon have used up its share, and learn of its messages milliseconds late.
void core_is_wanted();

inline constexpr double kSleepAfterWanted_s = 1;
/// Yielding a core that nobody else wants takes less.
inline constexpr double kLongestYield_s = 100e-6;

inline constexpr double kLongestAwake_s = 0.01;

}  // namespace moe
