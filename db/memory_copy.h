#pragma once

#include <string>

#include "db/connection.h"

namespace db {

/// Makes the content of one database that of another. Throws Error: `locked` where another process
/// holds the first for longer than the busy timeout; the other stays as it was then.
void copy_content(const Connection& from, Connection& to);

/// A copy of a database that lives in memory as long as the connection, to try what is not to be
/// stored; an empty one where there is no such file. Throws Error; never changes the file.
Connection copy_in_memory(const std::string& path);

}  // namespace db
