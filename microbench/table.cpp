#include "microbench/table.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace microbench {
namespace {

/// Columns of CSV and JSON: those of measurement_view, and some that the database does not keep.
const std::vector<std::string> kFileColumns = {"op",
                                               "device",
                                               "dtype",
                                               "ranks",
                                               "bytes",
                                               "count",
                                               "redop",
                                               "root",
                                               "parameters",
                                               "flops",
                                               "time_s",
                                               "min_s",
                                               "max_s",
                                               "cv",
                                               "samples",
                                               "algorithm_bandwidth_bytes_per_s",
                                               "bus_bandwidth_bytes_per_s",
                                               "flops_per_s",
                                               "wrong",
                                               "p50_s",
                                               "p95_s",
                                               "awake_s",
                                               "host",
                                               "date",
                                               "nodes",
                                               "commit",
                                               "network"};

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
  if (style.format != db::Format::table) rows_.emplace(file, style, kFileColumns);
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
    rows_->row({m.op,
                m.device,
                m.dtype,
                std::int64_t{m.ranks},
                m.bytes,
                m.count,
                result.redop,
                std::int64_t{result.root},
                m.parameters_json,
                m.flops,
                m.time_s,
                m.min_s,
                m.max_s,
                result.cv,
                std::int64_t{m.samples},
                m.algorithm_bandwidth_bytes_per_s,
                m.bus_bandwidth_bytes_per_s,
                m.flops / m.time_s,
                m.wrong,
                m.time_s,
                result.p95_s,
                result.awake_s ? db::Cell(*result.awake_s) : db::Cell(),
                origin_.host,
                date_of(origin_.started_at),
                std::int64_t{origin_.nodes},
                origin_.commit,
                db::text_cell(origin_.network)});
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
