#pragma once

#include <string>

#include "db/format_rows.h"
#include "tuner/commands/commands.h"

/// How every subcommand prints: rows as `--format` and `--color` say, the rest on stderr.
namespace tuner {

db::Style style_of(const Arguments& arguments);

/// One line on stderr, with the program's name.
void warn(const std::string& text);

}  // namespace tuner
