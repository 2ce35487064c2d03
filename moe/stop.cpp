#include "moe/stop.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>

namespace moe {
namespace {

/// Whoever ends a process often signals its group too (GNU timeout, supervisors, shells), and means
/// it once.
constexpr double kOneRequest_s = 1;

volatile std::sig_atomic_t asked_by = 0;
timespec asked_at{};
std::array<timespec, NSIG> first_of_kind{};  ///< 0 where there was none
std::atomic<bool> finishing{false};

double seconds_between(const timespec& begin, const timespec& end) {
  return static_cast<double>(end.tv_sec - begin.tv_sec) +
         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

void note(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (asked_by == 0) asked_at = now;
  asked_by = signal;
  timespec& first = first_of_kind[static_cast<std::size_t>(signal)];
  if (first.tv_sec == 0 && first.tv_nsec == 0) {
    first = now;
  } else if (signal != SIGPIPE && seconds_between(first, now) >= kOneRequest_s) {
    // Every write to a closed pipe sends one more of that kind.
    std::signal(signal, SIG_DFL);
    raise(signal);  // arrives when this handler returns
  }
}

}  // namespace

void stop_when_asked() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

int stop_signal() { return asked_by; }

double seconds_since_stop() {
  if (asked_by == 0) return 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds_between(asked_at, now);
}

void finish_together() { finishing = true; }
bool finishes_together() { return finishing; }

std::string stop_reason(int signal) {
  return signal == SIGUSR1 ? "asked by mpirun" : strsignal(signal);
}

}  // namespace moe
