#include "db/memory_copy.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <filesystem>

#include "db/translated.h"

namespace db {

void copy_content(const Connection& from, Connection& to) {
  constexpr const char* doing = "copy into memory";
  const int code = translated(from.path(), doing, [&] {
    return SQLite::Backup(to.database(), from.database()).executeStep();
  });
  if (code == SQLITE_DONE) return;
  throw translate(code, sqlite3_errstr(code), from.handle(), from.path(), doing,
                  from.busy_timeout_s());
}

Connection copy_in_memory(const std::string& path) {
  Connection copy = open_writer(":memory:");
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return copy;
  copy_content(open_reader(path), copy);
  bring_up_to_date(copy, current_schema());
  return copy;
}

}  // namespace db
