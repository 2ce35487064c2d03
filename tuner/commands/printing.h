#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "db/console/format_rows.h"
#include "moe/passes/schedule.h"
#include "tuner/commands/commands.h"
#include "tuner/costs/cluster.h"

/// How every subcommand prints: rows on stdout as `--format` and `--color` say, all else on stderr.
namespace tuner {

db::Style style_of(const Arguments& arguments);

/// "yes" or "no": whether a peak fits the memory of a rank. Empty where the cluster does not say
/// how much memory that is.
db::Cell fits_memory(std::int64_t peak_bytes, const Cluster& cluster);

/// The value of a setting, a number where it is one: 8 of "moe.experts=8".
db::Cell setting_cell(const std::string& setting);

/// Loads what the command line names, and says the remarks on stderr, none that is in `said`
/// already. Throws as load_scenario.
Scenario load_said(const ScenarioOptions& options, std::set<std::string>& said);
/// Says them of a scenario that is loaded.
void say_remarks(const Scenario& scenario, std::set<std::string>& said);
/// Whether a column is printed that is empty for most schedules. A table has it where one schedule
/// has a value; CSV and JSON always have it, so that programs find the same columns.
bool shows_column(const Arguments& arguments, bool one_has_it);

/// Warns where the schedule changes losses and gradients.
void warn_of_other_results(const moe::Schedule& schedule);

}  // namespace tuner
