#pragma once

#include <string_view>

namespace db {

/// The texts of db/schema.sql and of its later steps, put into the library by the build.
extern const std::string_view schema_sql;
extern const std::string_view schema_2_sql;
extern const std::string_view schema_3_sql;
extern const std::string_view schema_4_sql;
extern const std::string_view schema_5_sql;
extern const std::string_view schema_6_sql;
extern const std::string_view schema_7_sql;

}  // namespace db
