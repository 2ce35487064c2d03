#pragma once

#include <string>

namespace db {

/// Throws Error (invalid) where `path`, which was named for output, is the database or one of the
/// files that SQLite keeps beside it.
void refuse_database_as_output(const std::string& path, const std::string& database);

/// Makes a folder that was named for output, unless there is one. Throws OutputError (wrong use)
/// where it cannot be made.
void make_output_folder(const std::string& folder);

}  // namespace db
