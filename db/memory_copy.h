#pragma once

#include <string>

#include "db/connection.h"

namespace db {

/// A copy of a database that lives in memory as long as the connection, to try what is not to be
/// stored; an empty one where there is no such file. Throws Error; never changes the file.
Connection copy_in_memory(const std::string& path);

}  // namespace db
