#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tuner {

/// How a child process ended.
struct ChildResult {
  enum class End {
    exited,     ///< by itself, with `code`
    signalled,  ///< by signal `code`
    timed_out,  ///< it ran past its limit and was ended
  };
  End end = End::exited;
  int code = 0;
  std::string output;  ///< stdout
  std::string errors;  ///< the last 64 KiB of stderr
  double seconds = 0;
};

/// Runs a program (argv[0] is its path) in a process group of its own and waits for it. `alive` is
/// called about once a second meanwhile. Past `time_limit_s` the group gets SIGTERM, 5 seconds
/// later SIGKILL. When this process dies, the child gets SIGTERM; when it is asked to end
/// (moe/stop.h), the group is ended as past the limit and moe::Stopped is thrown. Processes that the child leaves behind
/// become this process's own, which waits for them up to a second: what they used of the processors counts as its
/// children's (processor_time.h). Throws std::system_error where it cannot be started.
ChildResult run_child(const std::vector<std::string>& argv, double time_limit_s,
                      const std::function<void()>& alive);

/// Processes that the kernel has killed for want of memory since it started; -1 where it does not
/// say.
long out_of_memory_kills();

}  // namespace tuner
