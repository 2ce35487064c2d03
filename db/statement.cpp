#include "db/statement.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

namespace db {

template <class Function>
auto Statement::translated(Function function) const {
  try {
    return function();
  } catch (const SQLite::Exception& exception) {
    // The first words say enough: "INSERT INTO span".
    throw translate(exception.getExtendedErrorCode(), exception.what(), connection_->handle(),
                    connection_->path(), sql_.substr(0, 60), connection_->busy_timeout_s());
  }
}

Statement::Statement(const Connection& connection, std::string sql)
    : connection_(&connection), sql_(std::move(sql)) {
  statement_ = translated(
      [&] { return std::make_unique<SQLite::Statement>(connection_->database(), sql_); });
}
Statement::Statement(Statement&&) noexcept = default;
Statement::~Statement() = default;

bool Statement::step() {
  return translated([&] { return statement_->executeStep(); });
}

void Statement::run() {
  translated([&] {
    while (statement_->executeStep()) {
    }
    statement_->reset();
  });
}

int Statement::places() const { return statement_->getBindParameterCount(); }

void Statement::bind_null(int index) {
  translated([&] { statement_->bind(index); });
}
void Statement::bind_value(int index, std::int64_t value) {
  translated([&] { statement_->bind(index, value); });
}
void Statement::bind_value(int index, double value) {
  translated([&] { statement_->bind(index, value); });
}
void Statement::bind_value(int index, const std::string& value) {
  translated([&] { statement_->bindNoCopy(index, value); });
}

void Statement::refuse(const char* table, const char* column, double number) const {
  throw Error(ErrorKind::invalid, fmt::format("{}: {}.{} = {} is not a finite number",
                                              connection_->path(), table, column, number));
}

bool Statement::is_null(int column) const { return statement_->getColumn(column).isNull(); }
void Statement::read_value(int column, std::int64_t& value) const {
  value = statement_->getColumn(column).getInt64();
}
void Statement::read_value(int column, int& value) const {
  value = statement_->getColumn(column).getInt();
}
void Statement::read_value(int column, double& value) const {
  value = statement_->getColumn(column).getDouble();
}
void Statement::read_value(int column, std::string& value) const {
  value = statement_->getColumn(column).getString();
}

}  // namespace db
