#pragma once

#include <string>

#include "db/format_rows.h"
#include "moe/passes/schedule.h"
#include "tuner/commands/commands.h"

/// How every subcommand prints: rows as `--format` and `--color` say, the rest on stderr.
namespace tuner {

db::Style style_of(const Arguments& arguments);

/// One line on stderr, with the program's name.
void warn(const std::string& text);
/// Says so where the schedule changes losses and gradients.
void warn_of_other_results(const moe::Schedule& schedule);

}  // namespace tuner
