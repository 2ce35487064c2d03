#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "moe/outcome.h"

/// What ranks tell the process that has started them by mpirun (mpirun.h): that they run, how they
/// have failed, and what they still do once they are asked to end. It travels as lines on stdout, as
/// what they print does, from any computer; the launcher keeps these lines to itself.
namespace moe {

/// The launcher's ear.
class LauncherWords {
 public:
  /// Puts into the environment by what the lines of its ranks begin.
  LauncherWords();
  LauncherWords(const LauncherWords&) = delete;
  LauncherWords& operator=(const LauncherWords&) = delete;
  ~LauncherWords();

  /// What of a piece of the ranks' output is for others. Keeps lines of words to itself, and the
  /// begin of a line that may be one until it is whole.
  std::string keep(std::string_view piece);
  /// What was kept of a line that does not come to its end any more.
  std::string rest();

  /// Whether a rank has told anything: that it runs, as rank 0 does at once, or how it has failed.
  bool is_told() const { return told_; }
  /// What ranks have told of their end, in the order in which it came.
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  struct Note {
    int rank = 0;
    std::string what;  ///< AnnouncedWork's
  };
  /// What ranks have told of their work since the last look.
  std::vector<Note> look();

 private:
  void hear(std::string_view word);

  std::string mark_, held_;
  bool told_ = false;
  std::vector<Outcome> outcomes_;
  std::vector<Note> notes_;
};

/// Tells the launcher that has started this process that its ranks run: rank 0 does. Returns whether
/// there is one; does nothing in other processes. Call it before anything else is printed, and
/// before any thread is started.
bool tell_launcher();
/// Hands an outcome to the launcher of this rank. False where there is none, or it hears nothing.
bool tell_launcher_of(const Outcome& outcome);
/// Tells the launcher of this rank, where there is one, what the rank does.
void tell_launcher_of_work(int rank, std::string_view what);

}  // namespace moe
