#include "moe/stop.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>

namespace moe {
namespace {

volatile std::sig_atomic_t asked_by = 0;
timespec asked_at{};
std::atomic<bool> finishing{false};

void note(int signal) {
  if (asked_by == 0) clock_gettime(CLOCK_MONOTONIC, &asked_at);
  asked_by = signal;
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
    // Every write to a closed pipe sends one more.
    if (signal != SIGPIPE) action.sa_flags |= static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

int stop_signal() { return asked_by; }

double seconds_since_stop() {
  if (asked_by == 0) return 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - asked_at.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - asked_at.tv_nsec);
}

void finish_together() { finishing = true; }
bool finishes_together() { return finishing; }

std::string stop_reason(int signal) {
  return signal == SIGUSR1 ? "asked by mpirun" : strsignal(signal);
}

}  // namespace moe
