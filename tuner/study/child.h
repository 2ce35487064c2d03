#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tuner {

/// The end of a child process.
struct ChildResult {
  enum class End {
    exited,     ///< it ended by itself, with exit code `code`
    signalled,  ///< signal `code` ended it
    timed_out,  ///< it ran past its limit and was ended
  };
  End end = End::exited;
  int code = 0;
  std::string output;  ///< stdout
  std::string errors;  ///< the last 64 KiB of stderr
  double seconds = 0;
};

/// Runs a program (argv[0] is its path), which reads `input` on its stdin, in a process group of its
/// own and waits for it. Calls `alive` about once a second meanwhile. After `time_limit_s` the
/// group gets SIGTERM, 5 seconds later SIGKILL. When this process dies, the child gets SIGTERM.
/// When this process is asked to end (moe/stop.h), it ends the group in the same way and throws
/// moe::Stopped. Processes that the child leaves running become children of this process, which
/// waits for them for up to a second. Throws std::system_error where the program cannot be started.
/// Where `alive` throws, the group is killed first.
ChildResult run_child(const std::vector<std::string>& argv, double time_limit_s,
                      const std::function<void()>& alive, std::string_view input = "");

/// The number of processes that the kernel has killed since it started because memory ran out; -1
/// where it does not tell.
long out_of_memory_kills();

}  // namespace tuner
