#include "moe/run/processor_time.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>

namespace moe {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Ranks that are threads of one process use its time together.
bool is_first_of_process(std::span<const RankInfo> ranks, std::size_t rank) {
  const RankInfo& self = ranks[rank];
  return self.pid == 0 || std::ranges::none_of(ranks.first(rank), [&](const RankInfo& earlier) {
           return earlier.machine == self.machine && earlier.pid == self.pid;
         });
}

double tick_s() { return 1 / static_cast<double>(sysconf(_SC_CLK_TCK)); }

}  // namespace

ProcessorTime processor_time() {
  ProcessorTime time;
  time.at_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  time.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  time.own_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, stolen = 0;
  if (file >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> stolen) {
    time.busy_s = (user + nice + system + irq + soft_irq + stolen) * tick_s();
  }
  return time;
}

ProcessorTime operator-(const ProcessorTime& after, const ProcessorTime& before) {
  return {after.at_s - before.at_s, after.busy_s - before.busy_s, after.own_s - before.own_s,
          after.processors};
}

std::vector<double> shares_of_others(std::span<const ProcessorTime> used,
                                     std::span<const RankInfo> ranks) {
  std::vector<double> shares;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const ProcessorTime& mine = used[rank];
    double others_s = mine.busy_s - mine.processors * tick_s();
    for (std::size_t other = 0; other < ranks.size(); ++other) {
      if (ranks[other].machine != ranks[rank].machine || !is_first_of_process(ranks, other))
        continue;
      others_s -= used[other].own_s;
    }
    const double available_s = mine.at_s * mine.processors;
    shares.push_back(available_s > 0 ? std::clamp(others_s / available_s, 0.0, 1.0) : 0);
  }
  return shares;
}

std::vector<double> shares_of_others(Communicator& world, const ProcessorTime& mine,
                                     std::span<const RankInfo> ranks, double time_limit_s) {
  const std::array<double, 4> numbers{mine.at_s, mine.busy_s, mine.own_s,
                                      static_cast<double>(mine.processors)};
  std::vector<double> all(numbers.size() * ranks.size());
  world.all_gather(numbers.data(), all.data(), numbers.size(), DType::f64,
                   {.time_limit_s = time_limit_s, .what = "use of the processors"});
  std::vector<ProcessorTime> used;
  for (std::size_t at = 0; at < all.size(); at += numbers.size()) {
    used.push_back({all[at], all[at + 1], all[at + 2], static_cast<int>(all[at + 3])});
  }
  return shares_of_others(used, ranks);
}

}  // namespace moe
