#pragma once

#include <string_view>

namespace db {

/// The texts of the files of these names in db/, put into the library by the build.
extern const std::string_view schema_sql;
extern const std::string_view timelines_sql;
extern const std::string_view views_sql;
extern const std::string_view columns_md;

}  // namespace db
