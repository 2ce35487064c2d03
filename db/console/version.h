#pragma once

#include <string>

namespace db {

/// "moe-db 0.2.0 (a1b2c3d4e5f6)": the text of `--version`, with the git revision of the build.
std::string version_line(const std::string& program);

}  // namespace db
