#pragma once

#include <stdexcept>
#include <string>

#include "db/console/exit_codes.h"

namespace db {

/// A file that was named for output cannot be opened, or it or stdout cannot be written any more.
struct OutputError : std::runtime_error {
  OutputError(const std::string& message, int exit_code)
      : std::runtime_error(message), exit_code(exit_code) {}

  /// The exit code of the program: 2 where the name is wrong, 1 where writing failed, and 0 where a
  /// reader has closed the pipe (`| head`), which main does not report.
  int exit_code = kExitFailed;

  bool closed() const { return exit_code == kExitDone; }
};

/// The OutputError of a write that failed with this errno: "`name`: cannot be written: ...".
OutputError write_error(const std::string& name, int code);

}  // namespace db
