#pragma once

#include <string_view>

namespace db {

/// The texts of db/schema.sql and db/views.sql, put into the library by the build.
extern const std::string_view schema_sql;
extern const std::string_view views_sql;
extern const std::string_view columns_md;

}  // namespace db
