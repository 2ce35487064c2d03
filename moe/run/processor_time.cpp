#include "tuner/study/processor_time.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace tuner {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double used_s(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

ProcessorTime processor_time() {
  ProcessorTime time;
  time.at_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  time.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  time.own_s = used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN);
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, stolen = 0;
  if (file >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> stolen) {
    time.busy_s = (user + nice + system + irq + soft_irq + stolen) /
                  static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return time;
}

double share_of_others(const ProcessorTime& before, const ProcessorTime& after) {
  const double available = (after.at_s - before.at_s) * after.processors;
  const double others = (after.busy_s - before.busy_s) - (after.own_s - before.own_s);
  return available > 0 ? std::clamp(others / available, 0.0, 1.0) : 0;
}

}  // namespace tuner
