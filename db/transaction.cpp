#include "db/transaction.h"

#include <spdlog/spdlog.h>
#include <sqlite3.h>

#include <chrono>
#include <utility>

namespace db {
namespace {

void execute(Connection& connection, const char* sql, const std::string& doing) {
  const auto begin = std::chrono::steady_clock::now();
  const int code = sqlite3_exec(connection.handle(), sql, nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return;
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  throw translate(sqlite3_extended_errcode(connection.handle()),
                  sqlite3_errmsg(connection.handle()), connection.handle(), connection.path(),
                  doing, waited.count());
}

}  // namespace

Transaction::Transaction(Connection& connection, std::string doing)
    : connection_(connection),
      doing_(std::move(doing)),
      nested_(sqlite3_get_autocommit(connection.handle()) == 0) {
  execute(connection_, nested_ ? "SAVEPOINT nested" : "BEGIN IMMEDIATE", doing_);
}

Transaction::~Transaction() {
  // SQLite itself rolls back after some errors (a full disk): then there is nothing left to undo.
  if (!open_ || sqlite3_get_autocommit(connection_.handle()) != 0) return;
  const char* sql = nested_ ? "ROLLBACK TO nested; RELEASE nested" : "ROLLBACK";
  if (sqlite3_exec(connection_.handle(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    spdlog::error("{}: cannot undo '{}': {}", connection_.path(), doing_,
                  sqlite3_errmsg(connection_.handle()));
  }
}

void Transaction::commit() {
  if (!nested_) connection_.require_in_place();
  execute(connection_, nested_ ? "RELEASE nested" : "COMMIT", doing_);
  open_ = false;
}

}  // namespace db
