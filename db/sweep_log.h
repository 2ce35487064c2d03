#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/import_sweeps.h"
#include "db/line_of_log.h"
#include "db/logged_collectives.h"

/// What the readers of all kinds of logs share.
namespace db {

constexpr double kMicro = 1e-6, kNano = 1e-9, kGiga = 1e9;

/// Without what mpirun --tag-output puts before a line, "[1,0]<stdout>:", and without its indent.
std::string untagged(const std::string& line);
std::vector<std::string> words_in(const std::string& line);
bool begins_with_size(const std::vector<std::string>& words);

/// The size of a row, times as many `parts` as the whole array has of it. Refuses what is no whole
/// number of bytes, or more than a row of measurement holds.
std::int64_t size_in_bytes(const std::string& printed, int parts, const LineOfLog& at);

/// A bandwidth in GB/s as printed, with two digits behind the point, and as it must be. Throws as
/// LineOfLog::refuse() where they differ by more than their rounding; `what` begins the message.
void expect_rate(double printed, double expected, const std::string& what, const LineOfLog& at);

/// The house's name of a type of elements: "f32" of "float". Refuses others.
std::string type_of_elements(const std::string& printed, const LineOfLog& at);

/// That of --collective; null without it.
const LoggedCollective* asked_collective(const std::string& name, const SweepFacts& facts);

/// The ranks of a log that names none, from what a person said. `nodes`: where that was not said.
std::vector<std::string> told_hosts(const std::string& name, const SweepFacts& facts, int nodes);

/// A row. `bytes` are those of the whole array.
Measurement measured(const LoggedCollective& collective, const std::string& device,
                     const std::string& dtype, int ranks, std::int64_t bytes, double time_s);

/// Remarks that so many were left out, where there are any: "2 rows without a time left out".
void add_left_out(int count, const char* one, const char* what, ImportedSweeps& imported);

/// Remarks that sizes are there several times in a table, of the same type. All rows are taken.
void add_repeated(ImportedSweeps& imported);

}  // namespace db
