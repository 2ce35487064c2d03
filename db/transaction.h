#pragma once

#include <string>

#include "db/connection.h"

namespace db {

/// All or nothing: what was written since construction is undone unless commit() was called. Inside
/// another transaction of the same connection it is a savepoint of that one, so that functions of
/// store.h compose.
class Transaction {
 public:
  /// Takes the write lock; `doing` is named in the Error when another process holds it beyond the
  /// busy timeout.
  explicit Transaction(Connection& connection, std::string doing = "write");
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  void commit();

 private:
  Connection& connection_;
  std::string doing_;
  bool nested_ = false;
  bool open_ = true;
};

}  // namespace db
