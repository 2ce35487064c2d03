#include "db/output_place.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "db/console/output_error.h"
#include "db/console/output_target.h"
#include "db/error.h"

namespace db {

void refuse_database_as_output(const std::string& path, const std::string& database) {
  if (path.empty() || path == "-" || database.empty()) return;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    if (same_file(path, database + suffix)) {
      throw Error(ErrorKind::invalid,
                  fmt::format("{}: belongs to the database {}: name another file for output", path,
                              database));
    }
  }
}

void make_output_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directory(folder, failed);
  if (failed || !std::filesystem::is_directory(folder, failed)) {
    throw OutputError(fmt::format("{}: cannot be made: {}", folder,
                                  failed ? failed.message() : "there is a file of that name"),
                      kExitWrongUse);
  }
}

}  // namespace db
