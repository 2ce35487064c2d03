#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// What a run is measured on.
struct MeasuredPlace {
  db::Machine machine;
  std::string network;
  std::vector<db::RunRank> ranks;
};

/// Throws moe::InputError where that of run `before` differs in its kind of machine
/// (db/machine_class.h), network, nodes or threads of ranks, unless `across`, which warns instead.
/// `name`: of the run that was, or will be, measured at `place`. Throws db::Error (not_found).
void expect_same_place(const db::Connection& connection, std::int64_t before,
                       const MeasuredPlace& place, const std::string& name, bool across);

/// Throws moe::InputError where the runs were not measured on the same, unless `across`, and where
/// they have no case with stored samples in common. Throws db::Error.
Comparison compare_runs(const db::Connection& connection, const CompareSettings& settings);

/// A row for each case: a table with remarks after it, or CSV or JSON.
void print_comparison(std::FILE* file, const db::Style& style, const CompareSettings& settings,
                      const Comparison& comparison);

/// What a change is, as far as these cases go: a line about a case, and one about all together.
std::vector<std::string> limit_lines(const CompareSettings& settings, const Comparison& comparison);

/// "12 cases: 2 slower, 1 faster, 9 within noise"
std::string summary_line(const CompareSettings& settings, const Comparison& comparison);

}  // namespace microbench
