#include "db/memory_copy.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Database.h>

#include <filesystem>

#include "db/translated.h"

namespace db {

Connection copy_in_memory(const std::string& path) {
  Connection copy = open_writer(":memory:");
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return copy;
  const Connection file = open_reader(path);
  translated(path, "copy into memory", [&] {
    SQLite::Backup(copy.database(), file.database()).executeStep();
    return true;
  });
  bring_up_to_date(copy, current_schema());
  return copy;
}

}  // namespace db
