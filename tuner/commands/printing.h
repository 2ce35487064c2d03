#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/console/format_rows.h"
#include "moe/passes/schedule.h"
#include "tuner/commands/commands.h"
#include "tuner/costs/cluster.h"

/// How every subcommand prints: rows as `--format` and `--color` say, the rest on stderr.
namespace tuner {

db::Style style_of(const Arguments& arguments);

/// "yes" or "no": whether a rank's peak is within the memory that a rank of the cluster has; nothing where the
/// cluster does not say how much.
db::Cell fits_memory(std::int64_t peak_bytes, const Cluster& cluster);

/// Nothing of nothing.
db::Cell optional_cell(const std::optional<double>& value);

/// One line on stderr, with the program's name.
void warn(const std::string& text);
/// Whether columns that say something of few schedules are printed: where one has it, and always for a program,
/// whose columns are to be the same.
bool shows_column(const Arguments& arguments, bool one_has_it);

/// What of a schedule's decisions changes results, nothing where all only say how.
db::Cell changes_cell(const moe::Schedule& schedule);
/// Says so where the schedule changes losses and gradients.
void warn_of_other_results(const moe::Schedule& schedule);

}  // namespace tuner
