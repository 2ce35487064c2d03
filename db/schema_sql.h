#pragma once

#include <string_view>

namespace db {

/// The text of db/schema.sql, put into the library by the build.
extern const std::string_view schema_sql;

}  // namespace db
