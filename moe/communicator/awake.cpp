#include "moe/communicator/awake.h"

#include <atomic>
#include <chrono>
#include <limits>

namespace moe {
namespace {

std::atomic<int> awake = 0;
constexpr double kNeverWanted_s = -std::numeric_limits<double>::infinity();
std::atomic<double> wanted_at = kNeverWanted_s;

double clock_of_cores_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

WaitsAwake::WaitsAwake() { ++awake; }
WaitsAwake::~WaitsAwake() {
  if (--awake == 0) wanted_at = kNeverWanted_s;  // the next ones begin anew
}

bool waits_awake() { return awake > 0 && clock_of_cores_s() - wanted_at > kSleepAfterWanted_s; }

void core_is_wanted() { wanted_at = clock_of_cores_s(); }

}  // namespace moe
