#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "db/console/format_rows.h"
#include "microbench/bench.h"

namespace microbench {

/// Columns that several benchmarks have.
Column size_column();
Column type_column();
Column time_column();  ///< the median
Column algorithm_bandwidth_column();
Column bus_bandwidth_column();
/// Four significant digits and no exponent.
std::string four_digits(double value);

/// What was measured on, in every row of CSV and JSON.
struct Origin {
  std::string host;       ///< of rank 0
  double started_at = 0;  ///< Unix seconds
  int nodes = 1;
  std::string commit;   ///< of the build
  std::string network;  ///< between the nodes (db/network.h); empty where it is not known
};

/// Prints results on rank 0 as they come: as nccl-tests prints them (metadata and headings start
/// with '#'), or one row per tuple of independent variables as CSV or JSON.
class ResultWriter {
 public:
  ResultWriter(std::FILE* file, db::Style style, Origin origin = {});

  void metadata(const std::string& line);  ///< a table's alone
  /// A line that is neither of a row nor metadata; a table's alone.
  void text(const std::string& line);
  bool is_table() const { return style_.format == db::Format::table; }
  /// A table has no row for a result without columns.
  void row(const Result& result);
  /// Prints the number of wrong values, the mean bus bandwidth, and the case with the largest cv.
  void finish();

  std::int64_t wrong() const { return wrong_; }

 private:
  void heading(const Result& result);
  void line(const std::string& text);

  std::FILE* file_;
  db::Style style_;
  Origin origin_;
  std::optional<db::RowWriter> rows_;
  std::string op_;  ///< whose heading was printed
  std::string most_unlike_;
  double largest_cv_ = -1;
  std::int64_t wrong_ = 0;
  double bus_bandwidth_sum_ = 0;
  int bus_bandwidths_ = 0;
};

}  // namespace microbench
