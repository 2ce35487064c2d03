#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "db/columns.h"
#include "db/error.h"

/// What the numbers of a row may be, whatever run it is of. Nothing that reads rows may take a
/// number for an index, a size or a time before it was compared with these.
namespace db {

/// More ranks, experts and nodes than any program takes, so that nothing overflows by them.
inline constexpr int kMostRanks = 1 << 20, kMostExperts = 1 << 20;

/// Numbers from `least` to `most`.
struct NumberRange {
  double least = 0;
  double most = 0;

  /// False for NaN.
  bool has(double number) const { return number >= least && number <= most; }
  bool has(std::int64_t number) const { return has(static_cast<double>(number)); }
};

/// Of a column of a table.
NumberRange range_of(std::string_view table, std::string_view column);

/// [column of Table<Record>]
template <class Record>
const auto& number_ranges() {
  constexpr auto size = std::tuple_size_v<decltype(Table<Record>::columns)>;
  static const std::array<NumberRange, size> ranges = std::apply(
      [](const auto&... column) {
        return std::array<NumberRange, size>{range_of(Table<Record>::name, column.name)...};
      },
      Table<Record>::columns);
  return ranges;
}

/// A value in a row that no program stores. what() is "FILE: TABLE.COLUMN = VALUE, where
/// run_id = 3: expected ...".
class WrongValue : public Error {
 public:
  /// `problem` is what() without the file; `column` is "TABLE.COLUMN".
  WrongValue(const std::string& path, std::string column, std::string problem);
  std::string column;
  std::string problem;
};

/// `row`: "run_id = 3", which row it is in; `why`: what it follows from, where that is not the
/// column alone.
[[noreturn]] void refuse_value(const std::string& path, std::string_view table,
                               std::string_view column, std::string_view value,
                               const std::string& expected, const std::string& row,
                               const std::string& why = "");
[[noreturn]] void refuse_number(const std::string& path, std::string_view table,
                                std::string_view column, std::int64_t number, NumberRange range,
                                const std::string& row, const std::string& why = "");
[[noreturn]] void refuse_number(const std::string& path, std::string_view table,
                                std::string_view column, double number, NumberRange range,
                                const std::string& row, const std::string& why = "");

}  // namespace db
