#pragma once

#include <stdexcept>
#include <string>

/// Signals that ask a program to end.
namespace moe {

/// From now on SIGINT, SIGTERM, SIGHUP (unless it is ignored, as nohup does), SIGPIPE (stdout was
/// closed) and SIGUSR1 (which mpirun passes to its ranks, see communicator/mpirun.h) ask this
/// process to end in order. A further signal of a kind ends it at once, except SIGPIPE, where it
/// comes a second or more after the first: those that signal a process and its group, as GNU
/// timeout does, mean one request.
void stop_when_asked();

/// The signal that asked for the end; 0 while none has.
int stop_signal();
/// Seconds since that signal; 0 while none has asked.
double seconds_since_stop();

/// All ranks have agreed to end, and still have something to do together. From now on no wait for
/// another rank is given up because a signal has come.
void finish_together();
bool finishes_together();

/// "Terminated"; "asked by mpirun" for SIGUSR1.
std::string stop_reason(int signal);

/// Thrown when a program ends in order because a signal asked for it; all ranks throw it together.
struct Stopped : std::runtime_error {
  Stopped(const std::string& what, int signal) : std::runtime_error(what), signal(signal) {}
  int signal;
};

}  // namespace moe
