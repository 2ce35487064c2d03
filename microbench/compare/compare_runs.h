#pragma once

#include <cstdint>
#include <string>

#include "db/connection.h"
#include "db/console/format_rows.h"
#include "microbench/compare/compare.h"

namespace microbench {

/// How two stored runs are compared.
struct CompareSettings {
  std::int64_t before = 0, after = 0;  ///< ids of runs
  double least = 0.05;                 ///< changes up to this share are none
  bool across = false;                 ///< also where they were not measured on the same
};

/// What differs in what the two runs were measured on: kind of machine (db/machine_class.h), network,
/// nodes, threads of ranks; "" where all is alike. Throws db::Error (not_found).
std::string difference_in_place(const db::Connection& connection, std::int64_t before,
                                std::int64_t after);

/// Throws moe::InputError where the runs were not measured on the same, unless `across`, and where
/// they have no case with stored samples in common. Throws db::Error.
Comparison compare_runs(const db::Connection& connection, const CompareSettings& settings);

/// A row for each case: a table with remarks after it, or CSV or JSON.
void print_comparison(std::FILE* file, const db::Style& style, const CompareSettings& settings,
                      const Comparison& comparison);

/// "12 cases: 2 slower, 1 faster, 9 within noise"
std::string summary_line(const CompareSettings& settings, const Comparison& comparison);

}  // namespace microbench
