#include "microbench/table.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace microbench {
namespace {

double microseconds(double seconds) { return seconds * 1e6; }
double gigabytes(double bytes) { return bytes / 1e9; }

/// "2026-11-28T07:14:00Z"
std::string date_of(double instant) {
  const auto whole = static_cast<std::time_t>(instant);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

/// What a row of CSV and JSON tells of.
struct FileRow {
  const Result& result;
  const db::Measurement& measured;
  const Origin& origin;
};

/// A column of CSV and JSON.
struct FileColumn {
  const char* name;
  db::Cell (*cell)(const FileRow&);
};

/// Those of measurement_view, and some that the database does not keep.
constexpr FileColumn kFileColumns[] = {
    {"op", [](const FileRow& r) -> db::Cell { return r.measured.op; }},
    {"device", [](const FileRow& r) -> db::Cell { return r.measured.device; }},
    {"dtype", [](const FileRow& r) -> db::Cell { return r.measured.dtype; }},
    {"ranks", [](const FileRow& r) -> db::Cell { return std::int64_t{r.measured.ranks}; }},
    {"bytes", [](const FileRow& r) -> db::Cell { return r.measured.bytes; }},
    {"count", [](const FileRow& r) -> db::Cell { return r.measured.count; }},
    {"redop", [](const FileRow& r) -> db::Cell { return r.result.redop; }},
    {"root", [](const FileRow& r) -> db::Cell { return std::int64_t{r.result.root}; }},
    {"parameters", [](const FileRow& r) -> db::Cell { return r.measured.parameters_json; }},
    {"flops", [](const FileRow& r) -> db::Cell { return r.measured.flops; }},
    {"time_s", [](const FileRow& r) -> db::Cell { return r.measured.time_s; }},
    {"min_s", [](const FileRow& r) -> db::Cell { return r.measured.min_s; }},
    {"max_s", [](const FileRow& r) -> db::Cell { return r.measured.max_s; }},
    {"cv", [](const FileRow& r) -> db::Cell { return r.result.cv; }},
    {"samples", [](const FileRow& r) -> db::Cell { return std::int64_t{r.measured.samples}; }},
    {"algorithm_bandwidth_bytes_per_s",
     [](const FileRow& r) -> db::Cell { return r.measured.algorithm_bandwidth_bytes_per_s; }},
    {"bus_bandwidth_bytes_per_s",
     [](const FileRow& r) -> db::Cell { return r.measured.bus_bandwidth_bytes_per_s; }},
    {"flops_per_s",
     [](const FileRow& r) -> db::Cell { return r.measured.flops / r.measured.time_s; }},
    {"wrong", [](const FileRow& r) -> db::Cell { return r.measured.wrong; }},
    {"p50_s", [](const FileRow& r) -> db::Cell { return r.measured.time_s; }},
    {"p95_s", [](const FileRow& r) -> db::Cell { return r.result.p95_s; }},
    {"awake_s", [](const FileRow& r) -> db::Cell { return db::optional_cell(r.result.awake_s); }},
    {"host", [](const FileRow& r) -> db::Cell { return r.origin.host; }},
    {"date", [](const FileRow& r) -> db::Cell { return date_of(r.origin.started_at); }},
    {"nodes", [](const FileRow& r) -> db::Cell { return std::int64_t{r.origin.nodes}; }},
    {"commit", [](const FileRow& r) -> db::Cell { return r.origin.commit; }},
    {"network", [](const FileRow& r) -> db::Cell { return db::text_cell(r.origin.network); }},
};

std::vector<std::string> names_of_file_columns() {
  std::vector<std::string> names;
  for (const FileColumn& column : kFileColumns) names.emplace_back(column.name);
  return names;
}

std::string text_of_line(const std::vector<Column>& columns, const auto& text) {
  std::string line;
  for (const Column& column : columns) {
    line += fmt::format("{}{:>{}}", line.empty() ? "" : " ", text(column), column.width);
  }
  return line;
}

/// The last columns of every table.
const std::vector<Column>& last_columns() {
  static const std::vector<Column> columns = {
      {"#wrong", "", 7, [](const Result& r) { return std::to_string(r.measurement.wrong); }},
      {"min", "(us)", 9,
       [](const Result& r) { return four_digits(microseconds(r.measurement.min_s)); }},
      {"p50", "(us)", 9,
       [](const Result& r) { return four_digits(microseconds(r.measurement.time_s)); }},
      {"p95", "(us)", 9, [](const Result& r) { return four_digits(microseconds(r.p95_s)); }},
      {"max", "(us)", 9,
       [](const Result& r) { return four_digits(microseconds(r.measurement.max_s)); }},
      {"cv", "(%)", 6, [](const Result& r) { return fmt::format("{:.1f}", r.cv * 100); }},
      {"samples", "", 7, [](const Result& r) { return std::to_string(r.measurement.samples); }},
  };
  return columns;
}

std::string whole_line(const Result& result, const auto& text) {
  std::string line = text_of_line(*result.columns, text) + " " + text_of_line(last_columns(), text);
  if (result.last_columns) line += " " + text_of_line(*result.last_columns, text);
  return line;
}

}  // namespace

std::string four_digits(double value) {
  const int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

Column size_column() {
  return {"size", "(B)", 12, [](const Result& r) { return std::to_string(r.measurement.bytes); }};
}

Column type_column() {
  return {"type", "", 8, [](const Result& r) { return r.measurement.dtype; }};
}

Column time_column() {
  return {"time", "(us)", 9,
          [](const Result& r) { return four_digits(microseconds(r.measurement.time_s)); }};
}

Column algorithm_bandwidth_column() {
  return {"algbw", "(GB/s)", 8, [](const Result& r) {
            return four_digits(gigabytes(r.measurement.algorithm_bandwidth_bytes_per_s));
          }};
}

Column bus_bandwidth_column() {
  return {"busbw", "(GB/s)", 8, [](const Result& r) {
            return four_digits(gigabytes(r.measurement.bus_bandwidth_bytes_per_s));
          }};
}

ResultWriter::ResultWriter(std::FILE* file, db::Style style, Origin origin)
    : file_(file), style_(style), origin_(std::move(origin)) {
  if (style.format != db::Format::table) rows_.emplace(file, style, names_of_file_columns());
}

void ResultWriter::line(const std::string& text) {
  if (std::fprintf(file_, "%s\n", text.c_str()) < 0 || std::fflush(file_) != 0) {
    throw db::write_error("stdout", errno);
  }
}

void ResultWriter::metadata(const std::string& text) {
  if (style_.format == db::Format::table) line("# " + text);
}

void ResultWriter::text(const std::string& text) {
  if (style_.format == db::Format::table) line(text);
}

void ResultWriter::heading(const Result& result) {
  op_ = result.measurement.op;
  line("#");
  line("# " + op_);
  for (std::string Column::*text : {&Column::name, &Column::unit}) {
    const auto of = [&](const Column& column) { return column.*text; };
    std::string whole = whole_line(result, of);
    whole[0] = '#';
    line(style_.color ? "\033[1m" + whole + "\033[0m" : whole);
  }
}

void ResultWriter::row(const Result& result) {
  const db::Measurement& m = result.measurement;
  wrong_ += m.wrong;
  if (result.in_mean_of_bus_bandwidth) {
    bus_bandwidth_sum_ += m.bus_bandwidth_bytes_per_s;
    ++bus_bandwidths_;
  }
  if (result.cv > largest_cv_) {
    largest_cv_ = result.cv;
    most_unlike_ = m.bytes > 0 ? fmt::format("{} of {} bytes", m.op, m.bytes)
                               : fmt::format("{} {}", m.op, m.parameters_json);
  }
  if (rows_) {
    std::vector<db::Cell> cells;
    for (const FileColumn& column : kFileColumns)
      cells.push_back(column.cell({result, m, origin_}));
    rows_->row(cells);
    return;
  }
  if (result.columns == nullptr) return;
  if (m.op != op_) heading(result);
  const auto of = [&](const Column& column) { return column.text(result); };
  line(whole_line(result, of));
}

void ResultWriter::finish() {
  if (rows_) {
    rows_->finish();
    return;
  }
  line("#");
  metadata(fmt::format("Out of bounds values : {} {}", wrong_, wrong_ == 0 ? "OK" : "FAILED"));
  if (bus_bandwidths_ > 0) {
    metadata(fmt::format("Avg bus bandwidth    : {} GB/s",
                         four_digits(gigabytes(bus_bandwidth_sum_ / bus_bandwidths_))));
  }
  if (largest_cv_ >= 0) {
    metadata(fmt::format("Largest cv           : {:.1f}% ({})", largest_cv_ * 100, most_unlike_));
  }
}

}  // namespace microbench
