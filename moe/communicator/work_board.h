#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "moe/memory_file.h"

namespace moe {

/// Where the ranks of an mpirun tell the process that has started it (mpirun.h) what they still do
/// after it has asked them to end. It has a place for each rank; ranks on other machines do not
/// reach it.
class WorkBoard {
 public:
  /// Throws std::system_error where there can be no such file.
  WorkBoard();

  struct Note {
    int rank = 0;
    std::string what;  ///< AnnouncedWork's
  };
  /// What ranks have noted since the last look.
  std::vector<Note> look();

 private:
  MemoryFile file_;
  std::string seen_;
};

/// Notes on the board of this rank's launcher, where there is one within reach.
class WorkNotes {
 public:
  /// Reads the environment.
  explicit WorkNotes(int rank);
  WorkNotes(const WorkNotes&) = delete;
  WorkNotes& operator=(const WorkNotes&) = delete;
  ~WorkNotes();
  void note(std::string_view what);

 private:
  int rank_, file_;
  int notes_ = 0;
};

}  // namespace moe
