#pragma once

#include <cstdint>
#include <string>

#include "db/format_rows.h"
#include "moe/passes/schedule.h"
#include "tuner/commands/commands.h"
#include "tuner/costs/cluster.h"

/// How every subcommand prints: rows as `--format` and `--color` say, the rest on stderr.
namespace tuner {

db::Style style_of(const Arguments& arguments);

/// "yes" or "no": whether a rank's peak is within the memory that a rank of the cluster has; nothing where the
/// cluster does not say how much.
db::Cell fits_memory(std::int64_t peak_bytes, const Cluster& cluster);

/// One line on stderr, with the program's name.
void warn(const std::string& text);
/// Says so where the schedule changes losses and gradients.
void warn_of_other_results(const moe::Schedule& schedule);

}  // namespace tuner
