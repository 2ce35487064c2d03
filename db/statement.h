#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/columns.h"
#include "db/connection.h"
#include "db/number_range.h"
#include "db/row_bounds.h"

namespace SQLite {
class Statement;
}

namespace db {

/// A prepared statement that speaks in fields and records. Throws Error.
class Statement {
 public:
  Statement(const Connection& connection, std::string sql);
  Statement(Statement&&) noexcept;
  ~Statement();

  /// Sets the values of ?1, ?2, ... Texts are not copied: they live until the statement has run.
  /// Throws Error for a number that is not finite: what is unknown is NULL, an empty optional.
  template <class... Values>
  Statement& bind(const Values&... values) {
    int index = 0;
    (bind_value(++index, values), ...);
    return *this;
  }

  /// Binds the columns of a record from ?1 on, as far as the statement has places; `id` 0 becomes
  /// NULL (the database gives one).
  /// Throws Error that names the table and column of a number which is not finite.
  template <class Record>
  Statement& bind_record(const Record& record) {
    int index = 0;
    std::apply([&](const auto&... column) { (bind_column(++index, record, column), ...); },
               Table<Record>::columns);
    return *this;
  }

  bool step();  ///< true when there is a row to read
  void run();   ///< runs to the end and makes the statement ready to bind again

  template <class Value>
  Value value(int column) const {
    Value read{};
    read_value(column, read);
    return read;
  }

  /// The same of a number that stands for `column` of `table`, in the range of that one. Throws
  /// WrongValue.
  template <class Value>
  Value number(int index, const char* table, const char* column) const {
    Value read{};
    read_number(index, read, table, column, range_of(table, column));
    return read;
  }

  /// The columns of column_list<Record>(), from column 0 on. Throws WrongValue for a number out of
  /// the range of its column (number_range.h).
  template <class Record>
  Record record() const {
    const auto& ranges = number_ranges<Record>();
    Record read;
    int index = 0;
    const auto next = [&](const auto& column) {
      read_column(index, read, column, ranges[static_cast<std::size_t>(index)]);
      ++index;
    };
    std::apply([&](const auto&... column) { (next(column), ...); }, Table<Record>::columns);
    return read;
  }

 private:
  int places() const;  ///< the largest n of its ?n
  void bind_null(int index);
  void bind_value(int index, std::int64_t value);
  void bind_value(int index, int value) { bind_value(index, std::int64_t{value}); }
  void bind_value(int index, double value);  ///< refuses what is not finite
  void bind_value(int index, const std::string& value);
  template <class Value>
  void bind_value(int index, const std::optional<Value>& value) {
    value ? bind_value(index, *value) : bind_null(index);
  }

  template <class Record, class Field>
  void bind_column(int index, const Record& record, const Column<Record, Field>& column) {
    if (index > places()) return;
    const Field& field = record.*column.field;
    if constexpr (std::same_as<Field, double> || std::same_as<Field, std::optional<double>>) {
      const std::optional<double> number = field;
      if (number && !std::isfinite(*number)) {
        if (column.not_finite == NotFinite::refused) {
          refuse(Table<Record>::name, column.name, *number);
        }
        return bind_null(index);
      }
    }
    if (std::string_view(column.name) == "id" && record.*column.field == Field{}) {
      return bind_null(index);
    }
    bind_value(index, field);
  }
  [[noreturn]] void refuse(const char* table, const char* column, double number) const;

  bool is_null(int column) const;
  void read_value(int column, std::int64_t& value) const;
  void read_value(int column, int& value) const;
  void read_value(int column, double& value) const;
  void read_value(int column, std::string& value) const;
  template <class Value>
  void read_value(int column, std::optional<Value>& value) const {
    if (!is_null(column)) read_value(column, value.emplace());
  }

  template <class Record, class Field>
  void read_column(int index, Record& record, const Column<Record, Field>& column,
                   NumberRange range) const {
    if constexpr (std::same_as<Field, double>) {
      if (is_null(index)) {
        record.*column.field = std::numeric_limits<double>::quiet_NaN();
        return;
      }
    }
    read_number(index, record.*column.field, Table<Record>::name, column.name, range);
  }

  void read_number(int index, std::int64_t& number, const char* table, const char* column,
                   NumberRange range) const;
  void read_number(int index, int& number, const char* table, const char* column,
                   NumberRange range) const;
  void read_number(int index, double& number, const char* table, const char* column,
                   NumberRange range) const;
  void read_number(int index, std::string& text, const char*, const char*, NumberRange) const {
    read_value(index, text);
  }
  template <class Value>
  void read_number(int index, std::optional<Value>& value, const char* table, const char* column,
                   NumberRange range) const {
    if (!is_null(index)) read_number(index, value.emplace(), table, column, range);
  }
  /// Which row this is: "run_id = 3".
  std::string row() const;

  template <class Function>
  auto translated(Function function) const;

  const Connection* connection_;
  std::string sql_;
  std::unique_ptr<SQLite::Statement> statement_;
};

/// Every record that `SELECT <columns of Record> FROM <its table> <tail>` yields. Throws WrongValue
/// for a number that is not in its range (number_range.h), or not in that of its run, timeline or
/// study (row_bounds.h).
template <class Record, class... Values>
std::vector<Record> select(const Connection& connection, const std::string& tail,
                           const Values&... values) {
  Statement statement(
      connection, "SELECT " + column_list<Record>() + " FROM " + Table<Record>::name + " " + tail);
  statement.bind(values...);
  std::vector<Record> records;
  RowBounds bounds(connection);
  while (statement.step()) {
    records.push_back(statement.template record<Record>());
    bounds.check(records.back());
  }
  return records;
}

}  // namespace db
