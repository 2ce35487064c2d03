#include "db/statement.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

#include <algorithm>
#include <limits>

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
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::invalid,
                fmt::format("{}: value {} of '{}' = {} is not a finite number", connection_->path(),
                            index, sql_.substr(0, 60), value));
  }
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
  constexpr NumberRange range{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};
  const std::int64_t number = statement_->getColumn(column).getInt64();
  if (!range.has(number)) {
    refuse_number(connection_->path(), "query", statement_->getColumnName(column), number, range,
                  row());
  }
  value = static_cast<int>(number);
}
void Statement::read_value(int column, double& value) const {
  value = statement_->getColumn(column).getDouble();
}
void Statement::read_value(int column, std::string& value) const {
  value = statement_->getColumn(column).getString();
}

void Statement::read_number(int index, std::int64_t& number, const char* table, const char* column,
                            NumberRange range) const {
  number = statement_->getColumn(index).getInt64();
  if (!range.has(number)) {
    refuse_number(connection_->path(), table, column, number, range, row());
  }
}
void Statement::read_number(int index, int& number, const char* table, const char* column,
                            NumberRange range) const {
  constexpr double least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  std::int64_t whole = 0;
  read_number(index, whole, table, column,
              {std::max(range.least, least), std::min(range.most, most)});
  number = static_cast<int>(whole);
}
void Statement::read_number(int index, double& number, const char* table, const char* column,
                            NumberRange range) const {
  number = statement_->getColumn(index).getDouble();
  if (!range.has(number)) {
    refuse_number(connection_->path(), table, column, number, range, row());
  }
}

std::string Statement::row() const {
  const std::string_view name = statement_->getColumnName(0);
  if (!name.ends_with("id")) return "";
  return fmt::format("{} = {}", name, statement_->getColumn(0).getInt64());
}

}  // namespace db
