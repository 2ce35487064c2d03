#pragma once

#include <string>

#include "db/connection.h"

namespace db {

/// What tells this database from all others, whatever its name on whatever computer; a copy has the
/// same. Empty for one of an earlier version that no program has written since.
std::string file_identity(const Connection&);

}  // namespace db
