#include "microbench/table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace microbench {
namespace {

const std::vector<std::string> columns = {"op",
                                          "device",
                                          "type",
                                          "ranks",
                                          "size_bytes",
                                          "count",
                                          "redop",
                                          "root",
                                          "parameters",
                                          "flops",
                                          "time_s",
                                          "min_s",
                                          "max_s",
                                          "samples",
                                          "algbw_bytes_per_s",
                                          "busbw_bytes_per_s",
                                          "flops_per_s",
                                          "wrong"};

double microseconds(double seconds) { return seconds * 1e6; }
double gigabytes(double bytes) { return bytes / 1e9; }

/// Four significant digits and no exponent.
std::string number(double value) {
  const int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

ResultWriter::ResultWriter(std::FILE* file, db::Format format) : file_(file), format_(format) {
  if (format != db::Format::table) rows_.emplace(file, db::Style{format, false}, columns);
}

void ResultWriter::line(const std::string& text) {
  if (std::fprintf(file_, "%s\n", text.c_str()) < 0 || std::fflush(file_) != 0) {
    throw db::OutputError{errno == EPIPE, "cannot write to stdout"};
  }
}

void ResultWriter::metadata(const std::string& text) {
  if (format_ == db::Format::table) line("# " + text);
}

void ResultWriter::heading(const Result& result) {
  op_ = result.measurement.op;
  line("#");
  line("# " + op_);
  const auto times = fmt::format(" {:>9} {:>9} {:>7}", "min", "max", "samples");
  const auto time_units = fmt::format(" {:>9} {:>9} {:>7}", "(us)", "(us)", "");
  switch (result.family) {
    case Family::collective:
      line(fmt::format("#{:>11} {:>12} {:>8} {:>7} {:>5} {:>9} {:>8} {:>8} {:>7}{}", "size",
                       "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
                       times));
      line(fmt::format("#{:>11} {:>12} {:>8} {:>7} {:>5} {:>9} {:>8} {:>8} {:>7}{}", "(B)",
                       "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", time_units));
      break;
    case Family::gemm:
      line(fmt::format("#{:>7} {:>8} {:>8} {:>8} {:>8} {:>9} {:>10} {:>7}{}", "m", "n", "k",
                       "experts", "type", "time", "rate", "#wrong", times));
      line(fmt::format("#{:>7} {:>8} {:>8} {:>8} {:>8} {:>9} {:>10} {:>7}{}", "", "", "", "", "",
                       "(us)", "(GFLOP/s)", "", time_units));
      break;
    case Family::copy:
      line(fmt::format("#{:>11} {:>9} {:>8} {:>8} {:>7}{}", "size", "time", "algbw", "busbw",
                       "#wrong", times));
      line(fmt::format("#{:>11} {:>9} {:>8} {:>8} {:>7}{}", "(B)", "(us)", "(GB/s)", "(GB/s)", "",
                       time_units));
      break;
  }
}

void ResultWriter::row(const Result& result) {
  const db::Measurement& m = result.measurement;
  wrong_ += m.wrong;
  if (result.family == Family::collective) {
    bus_bandwidth_sum_ += m.bus_bandwidth_bytes_per_s;
    ++collectives_;
  }
  if (rows_) {
    rows_->row({m.op, m.device, m.dtype, std::int64_t{m.ranks}, m.bytes, m.count, result.redop,
                std::int64_t{result.root}, m.parameters_json, m.flops, m.time_s, m.min_s, m.max_s,
                std::int64_t{m.samples}, m.algorithm_bandwidth_bytes_per_s,
                m.bus_bandwidth_bytes_per_s, m.flops / m.time_s, m.wrong});
    return;
  }
  if (m.op != op_) heading(result);
  const auto times = fmt::format(" {:>9} {:>9} {:>7}", number(microseconds(m.min_s)),
                                 number(microseconds(m.max_s)), m.samples);
  const std::string time = number(microseconds(m.time_s));
  const std::string algbw = number(gigabytes(m.algorithm_bandwidth_bytes_per_s));
  const std::string busbw = number(gigabytes(m.bus_bandwidth_bytes_per_s));
  switch (result.family) {
    case Family::collective:
      line(fmt::format("{:>12} {:>12} {:>8} {:>7} {:>5} {:>9} {:>8} {:>8} {:>7}{}", m.bytes,
                       m.count, m.dtype, result.redop, result.root, time, algbw, busbw, m.wrong,
                       times));
      break;
    case Family::gemm: {
      const auto p = nlohmann::json::parse(m.parameters_json);
      const auto size = [&](const char* name) { return p.at(name).get<std::int64_t>(); };
      line(fmt::format("{:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>10} {:>7}{}", size("m"), size("n"),
                       size("k"), size("experts"), m.dtype, time, number(m.flops / m.time_s / 1e9),
                       m.wrong, times));
      break;
    }
    case Family::copy:
      line(fmt::format("{:>12} {:>9} {:>8} {:>8} {:>7}{}", m.bytes, time, algbw, busbw, m.wrong,
                       times));
      break;
  }
}

void ResultWriter::finish() {
  if (rows_) {
    rows_->finish();
    return;
  }
  line("#");
  metadata(fmt::format("Out of bounds values : {} {}", wrong_, wrong_ == 0 ? "OK" : "FAILED"));
  if (collectives_ > 0) {
    metadata(fmt::format("Avg bus bandwidth    : {} GB/s",
                         number(gigabytes(bus_bandwidth_sum_ / collectives_))));
  }
}

}  // namespace microbench
