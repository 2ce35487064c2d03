#include <cstdio>
#include <cstdlib>
#include <exception>

#include "db/connection.h"
#include "tests/viewer/synthetic_database.h"

/// Writes the tests' database to a file, to look at it by hand: make_synthetic_database FILE
/// With RANKS, that of one run on so many: make_synthetic_database FILE RANKS
int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    return std::fputs("usage: make_synthetic_database FILE [RANKS]\n", stderr), 2;
  }
  try {
    db::Connection connection = db::open_writer(argv[1]);
    if (argc == 2) {
      viewer::fill_synthetic_database(connection);
    } else {
      viewer::add_wide_run(connection, std::atoi(argv[2]));
    }
    return 0;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "make_synthetic_database: %s\n", error.what()), 1;
  }
}
