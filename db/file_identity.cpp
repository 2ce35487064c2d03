#include "db/file_identity.h"

#include "db/statement.h"

namespace db {

std::string file_identity(const Connection& connection) {
  Statement statement(connection, "SELECT coalesce(min(id), '') FROM file_identity");
  statement.step();
  return statement.value<std::string>(0);
}

}  // namespace db
