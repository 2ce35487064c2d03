#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Copies a table of the window as CSV.
namespace viewer {

/// Writes down the table under the mouse while it is drawn, also the rows that are scrolled out of
/// sight. Tables are those with a header_row and an end_table (table.h).
class TableCopy {
 public:
  /// Asks for the table that the mouse was over in the last frame, before this frame is drawn.
  /// False where there is none.
  bool request();
  /// Between the two, the frame is drawn. end() returns the CSV of the table that was asked for.
  void begin();
  std::optional<std::string> end();

  /// For a table that leaves out columns where it is narrow: true in the frame that writes it down
  /// after it was drawn as `narrow`. It is then drawn as `whole`, with all columns.
  static bool copies_whole(const char* narrow, const char* whole);
  /// For header_row: starts writing down where this is the table that was asked for.
  static void on_header();
  /// For end_table: the table that was asked for is written down. The end of a window would drop
  /// it.
  static void on_end();
  /// Whether the table that is drawn now is written down.
  static bool is_writing();

 private:
  void stop();

  unsigned wanted_ = 0;  // ImGui's id; 0 for none
  std::size_t columns_ = 0;
  bool writing_ = false;
  std::string csv_;
};

/// Rows of `columns` cells as CSV (RFC 4180, lines ending in LF) of what ImGui logs of a table: "|"
/// before each cell. What follows the table is left out.
std::string csv_of_log(std::string_view log, std::size_t columns);

}  // namespace viewer
