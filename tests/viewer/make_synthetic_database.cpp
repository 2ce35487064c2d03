#include <cstdio>
#include <exception>

#include "db/connection.h"
#include "tests/viewer/synthetic_database.h"

/// Writes the tests' database to a file, to look at it by hand: make_synthetic_database FILE
int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: make_synthetic_database FILE\n", stderr), 2;
  try {
    db::Connection connection = db::open_writer(argv[1]);
    viewer::fill_synthetic_database(connection);
    return 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "make_synthetic_database: %s\n", error.what()), 1;
  }
}
