#include "db/migrations.h"

#include "db/schema_sql.h"

namespace db {

std::vector<Migration> all_migrations() {
  return {
      {1, std::string(schema_sql)},   {2, std::string(schema_2_sql)},
      {3, std::string(schema_3_sql)}, {4, std::string(schema_4_sql)},
      {5, std::string(schema_5_sql)}, {6, std::string(schema_6_sql)},
      {7, std::string(schema_7_sql)},
  };
}

}  // namespace db
