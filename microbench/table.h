#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "db/format_rows.h"
#include "microbench/bench.h"

namespace microbench {

/// Prints results on rank 0 as they come: as nccl-tests prints them (metadata and headings start
/// with '#'), or one row per tuple of independent variables as CSV or JSON.
class ResultWriter {
 public:
  ResultWriter(std::FILE* file, db::Format format);

  void metadata(const std::string& line);  ///< a table's alone
  void row(const Result& result);
  /// Prints how many values were wrong and the mean bus bandwidth of collectives.
  void finish();

  std::int64_t wrong() const { return wrong_; }

 private:
  void heading(const Result& result);
  void line(const std::string& text);

  std::FILE* file_;
  db::Format format_;
  std::optional<db::RowWriter> rows_;
  std::string op_;  ///< whose heading was printed
  std::int64_t wrong_ = 0;
  double bus_bandwidth_sum_ = 0;
  int collectives_ = 0;
};

}  // namespace microbench
