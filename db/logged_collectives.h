#pragma once

#include <string>
#include <string_view>

namespace db {

/// A collective, as logs call it.
struct LoggedCollective {
  std::string_view name;     ///< of moe-bench
  std::string_view program;  ///< of nccl-tests
  std::string_view title;    ///< of OSU's benchmark
  std::string_view file;     ///< in names of files, in small letters without marks
  bool is_of_parts = false;  ///< OSU's size is that of a rank's part
};
/// Null where none has this text there.
const LoggedCollective* collective_with(std::string_view LoggedCollective::*what,
                                        std::string_view text);

/// "all_reduce, all_gather, ..."
std::string all_that_are(std::string_view LoggedCollective::*what);

/// The collective that the name of a file has; of several the one that is named first. Null where it
/// has none.
const LoggedCollective* collective_of_file(std::string_view path);

}  // namespace db
