#include "db/console/version.h"

#include <fmt/core.h>

#include "moelab_revision.h"

namespace db {

std::string version_line(const std::string& program) {
  return fmt::format("{} {} ({})", program, moelab::version, moelab::revision());
}

}  // namespace db
