#pragma once

#include <stdexcept>
#include <string>

/// How a program is asked to end.
namespace moe {

/// From now on SIGINT, SIGTERM, SIGHUP (unless it is ignored, as nohup does), SIGPIPE (stdout was
/// closed) and SIGUSR1 (what reaches the ranks of mpirun, see communicator/mpirun.h) ask this
/// process to end in order. A second one of a kind ends it at once, except SIGPIPE.
void stop_when_asked();

/// The signal that asked for the end; 0 while none has.
int stop_signal();
/// Since then; 0 while none has.
double seconds_since_stop();

/// "Terminated"; "asked to by mpirun" for SIGUSR1.
std::string stop_reason(int signal);

/// Ended in order because a signal asked for it; on several ranks all of them throw it together.
struct Stopped : std::runtime_error {
  Stopped(const std::string& what, int signal) : std::runtime_error(what), signal(signal) {}
  int signal;
};

}  // namespace moe
