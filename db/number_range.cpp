#include "db/number_range.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "db/console/shown_text.h"

namespace db {
namespace {

/// Sums of some of them stay within their types.
constexpr double kMostCount = 1e15, kMostBytes = 1e17, kMostWork = 1e30;
constexpr double kMostLength_s = 1e9;    // 30 years
constexpr double kLatestInstant = 1e11;  // in the year 5138
constexpr double kLastNumber = std::numeric_limits<std::int32_t>::max() - 1;
constexpr double kAnything = std::numeric_limits<double>::max();

constexpr NumberRange kOrdinal{0, kLastNumber}, kCount{0, kMostCount}, kBytes{0, kMostBytes},
    kLength_s{0, kMostLength_s}, kDifference_s{-kMostLength_s, kMostLength_s},
    kInstant{0, kLatestInstant}, kRank{0, kMostRanks - 1}, kRanks{1, kMostRanks},
    kExpert{0, kMostExperts - 1}, kWork{0, kMostWork}, kAny{-kAnything, kAnything};

struct NamedRange {
  std::string_view table;  ///< "" of all tables
  std::string_view column;
  NumberRange range;
};
/// The first that fits. Columns that are not there go by the end of their name.
constexpr NamedRange kRanges[] = {
    {"run_rank", "clock_offset_s", kDifference_s},
    {"fit", "alpha_s", kDifference_s},
    {"iteration", "exposed_s", kDifference_s},  // by subtraction, rounded
    {"iteration", "exposed_waiting_s", kDifference_s},
    {"iteration", "exposed_bubble_s", kDifference_s},
    {"fit", "beta_s_per_unit", kDifference_s},
    {"fit", "ranks", {0, kMostRanks}},
    {"measurement", "ranks", {0, kMostRanks}},
    {"measurement", "wrong", kCount},
    {"measurement", "count", kCount},
    {"", "ranks", kRanks},
    {"", "rank", kRank},
    {"", "first_rank", kRank},
    {"", "from_rank", kRank},
    {"", "to_rank", kRank},
    {"", "transfers", kCount},
    {"", "node", kRank},
    {"", "nodes", {0, kMostRanks}},
    {"", "core_set", kRank},
    {"", "cores", kOrdinal},
    {"", "threads", kOrdinal},
    {"", "gpu_count", kOrdinal},
    {"", "pid", kCount},
    {"", "iteration", kOrdinal},
    {"", "layer", {-1, kLastNumber}},
    {"", "expert", kExpert},
    {"", "experts", {1, kMostExperts}},
    {"", "unused_experts", {0, kMostExperts}},
    {"", "micro_batch", {-1, kLastNumber}},
    {"", "replica", {0, 1}},
    {"", "share_of_others", {0, 1}},
    {"", "repeat", kOrdinal},
    {"predicted_setup", "place", kOrdinal},
    {"", "micro_batches", kOrdinal},
    {"", "restored_blocks", kOrdinal},
    {"", "whole_blocks", kOrdinal},
    {"", "shard_optimizer", {0, 1}},
    {"", "tokens_per_s", kWork},
    {"", "steps", kOrdinal},
    {"", "trials", kOrdinal},
    {"", "samples", kOrdinal},
    {"", "outliers", kOrdinal},
    {"", "op", kOrdinal},
    {"", "before", kOrdinal},
    {"", "chunk", kOrdinal},
    {"", "chunks", kOrdinal},
    {"", "tensor", kOrdinal},
    {"", "first_op", kOrdinal},
    {"", "last_op", kOrdinal},
    {"", "flops", kWork},
    {"", "peak_flops_per_s", kWork},
    {"", "min_units", kWork},
    {"", "max_units", kWork},
};
constexpr NamedRange kRangesByEnd[] = {{"", "bytes", kBytes},
                                       {"", "bytes_per_s", kWork},
                                       {"", "tokens", kCount},
                                       {"", "_s", kLength_s},
                                       {"", "_at", kInstant}};

}  // namespace

NumberRange range_of(std::string_view table, std::string_view column) {
  for (const NamedRange& one : kRanges) {
    if ((one.table.empty() || one.table == table) && one.column == column) return one.range;
  }
  for (const NamedRange& one : kRangesByEnd) {
    if (column.ends_with(one.column)) return one.range;
  }
  return kAny;
}

WrongValue::WrongValue(const std::string& path, std::string column, std::string problem)
    : Error(ErrorKind::invalid, fmt::format("{}: {}", path, problem)),
      column(std::move(column)),
      problem(std::move(problem)) {}

void refuse_value(const std::string& path, std::string_view table, std::string_view column,
                  std::string_view value, const std::string& expected, const std::string& row,
                  const std::string& why) {
  std::string name = fmt::format("{}.{}", table, column);
  std::string problem =
      fmt::format("{} = {}{}{}: expected {}{}{}", name, shortened(value),
                  row.empty() ? "" : ", where ", row, expected, why.empty() ? "" : ", as ", why);
  throw WrongValue(path, std::move(name), std::move(problem));
}

void refuse_number(const std::string& path, std::string_view table, std::string_view column,
                   std::int64_t number, NumberRange range, const std::string& row,
                   const std::string& why) {
  refuse_value(
      path, table, column, fmt::to_string(number),
      integer_range(static_cast<std::int64_t>(range.least), static_cast<std::int64_t>(range.most)),
      row, why);
}

void refuse_number(const std::string& path, std::string_view table, std::string_view column,
                   double number, NumberRange range, const std::string& row,
                   const std::string& why) {
  refuse_value(path, table, column, fmt::to_string(number),
               fmt::format("a number from {:g} to {:g}", range.least, range.most), row, why);
}

}  // namespace db
