#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace moe {

/// What a child prints on stdout or stderr.
class ChildOutput {
 public:
  /// Hears every piece, and returns what of it is for others. An empty piece is the end.
  using Hear = std::function<std::string(std::string_view piece)>;

  /// That goes on to the file `to` (-1: none is there) as fast as the file takes it. The child
  /// itself would die of a reader that goes away.
  explicit ChildOutput(Hear hear, int to = -1) : hear_(std::move(hear)), to_(to) {}

  bool gone() const { return gone_; }   ///< whether nothing can be handed on any more
  int error() const { return error_; }  ///< the errno of that; 0 where the reader went away

 private:
  friend class Child;
  pollfd source(int from) const;
  pollfd target() const;
  bool is_drained(const pollfd& source) const;
  void take(int from);
  void carry(int from, short source_events, short target_events);

  Hear hear_;
  int to_;
  std::string held_{};  ///< what waits for the file
  bool open_ = true, gone_ = false;
  int error_ = 0;
};

/// A program that runs as a child of this process, in a process group of its own: signals of a
/// terminal go to this process alone. When this process dies, the child gets SIGTERM.
class Child {
 public:
  /// Starts argv[0], a path or a name in PATH, which reads `input` on its stdin. Processes that it
  /// leaves running become children of this process and are ended (orphans.h) with its group; with
  /// a `program`, only those that execute it are. Where it cannot be executed it ends with 127 and
  /// says so on stderr. Throws std::system_error where there can be no process.
  explicit Child(const std::vector<std::string>& argv, std::string_view input = "",
                 std::filesystem::path program = {});
  /// Kills it where it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits until it has ended and all that it has printed is handed on. Meanwhile calls `look` ten
  /// times a second or more often.
  void watch(ChildOutput& out, ChildOutput& err, const std::function<void()>& look);

  pid_t pid() const { return pid_; }
  /// Sends it a signal, also where it is stopped.
  void signal(int signal) const;
  /// Sends it, or all of its group, SIGTERM once. SIGKILL follows for the group, `grace_s` later.
  void terminate(double grace_s, bool group = false);
  bool was_terminated() const { return terminated_at_.has_value(); }
  int status() const { return status_; }  ///< as waitpid() tells it, once it has ended

 private:
  std::filesystem::path program_;
  std::set<pid_t> others_;  ///< children of this process before it
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;  ///< the pipes from it
  bool ended_ = false;
  int status_ = 0;
  std::optional<std::chrono::steady_clock::time_point> terminated_at_;
  double grace_s_ = 0;
};

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

/// Runs a program as a Child and waits for it. Calls `alive` about once a second meanwhile. After
/// `time_limit_s` the group gets SIGTERM, 5 seconds later SIGKILL. When this process is asked to end
/// (stop.h), it ends the group in the same way and throws Stopped. Where `alive` throws, the group is
/// killed first.
ChildResult run_child(const std::vector<std::string>& argv, double time_limit_s,
                      const std::function<void()>& alive, std::string_view input = "");

}  // namespace moe
