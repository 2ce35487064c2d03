#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Lines of texts that are imported, and their refusal.
namespace db {

/// Where a line stands.
struct LineOfLog {
  std::string file;
  int number = 0;
  /// Throws Error (invalid): "FILE, line 3: WHY".
  [[noreturn]] void refuse(const std::string& why) const;
};
/// The same of the whole file.
[[noreturn]] void refuse_log(const std::string& name, const std::string& why);

/// None where it is not one, or is not finite.
std::optional<double> number_in(std::string_view word);
/// None where it is no integer from 0 to `most`. "8.0" is one.
std::optional<std::int64_t> whole_number_in(std::string_view word, std::int64_t most);

/// The cells of a line of CSV, without the end of a line of Windows. A cell in quotes may hold commas,
/// and quotes written twice.
std::vector<std::string> csv_cells(const std::string& line);

}  // namespace db
