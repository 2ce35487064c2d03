#include <SQLiteCpp/Database.h>
#include <fmt/core.h>

#include <filesystem>

#include "tests/db/sample.h"

/// db_sample FILE: a new database with one of everything. db_sample FILE "SQL": runs the SQL in it,
/// and makes it before that if there is no such file.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const bool made = !std::filesystem::exists(argv[1]);
    auto connection = db::open_writer(argv[1]);
    if (made || argc == 2) db::store_sample(connection);
    if (argc > 2) connection.database().exec(argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "db_sample: {}\n", error.what());
    return 1;
  }
}
