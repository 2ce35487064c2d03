#include <SQLiteCpp/Database.h>
#include <fmt/core.h>

#include "tests/db/sample.h"

/// db_sample FILE: a database with one of everything. db_sample FILE "SQL": the same, then the SQL
/// runs in it.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    auto connection = db::open_writer(argv[1]);
    db::store_sample(connection);
    if (argc > 2) connection.database().exec(argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "db_sample: {}\n", error.what());
    return 1;
  }
}
