#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/console/format_rows.h"
#include "db/console/shown_text.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

/// Options and checks that the command lines of all programs have in common. CLI11 by itself
/// accepts "true" as 1, NaN as positive, and negative numbers unless they are forbidden. Sources
/// that use these include CLI/CLI.hpp; this header does not.
namespace db::options {

/// MPI jobs of more ranks than this are mistakes.
inline constexpr int kMostRanks = 4096;
inline constexpr int kMostThreads = 1024;
inline constexpr double kMostSeconds = 1e7;  ///< four months; added to a clock it does not overflow

// --- checks ------------------------------------------------------------------------------------

/// Accepts one of these words.
CLI::Validator one_of(const std::vector<std::string>& words);
/// Accepts a number of digits only, within [least, most].
CLI::Validator whole_number(std::int64_t least, std::int64_t most = kAnyInteger);
/// Accepts seconds above 0 (with `zero`, also 0) up to kMostSeconds; never NaN.
CLI::Validator seconds(bool zero = false);
/// Accepts a number from 0 to 1; never NaN.
CLI::Validator share();
/// Accepts a number of at least 0; never NaN nor infinity.
CLI::Validator number_from_zero();
/// Accepts Gbit/s of a link, at least 0.001, or 0, which means that there is no such link.
CLI::Validator gigabits_per_second();
/// Replaces "2G" by its number of bytes; at least 1.
CLI::Validator size_in_bytes();
/// Accepts a text that is not empty and has no control characters.
CLI::Validator not_empty();

// --- options that several programs have --------------------------------------------------------

/// The values of `--format` and `--color`.
struct Output {
  std::string format = "table";
  std::string color = "auto";

  Style style(std::FILE* file) const;
};

/// Adds `--format` and `--color`.
void add_output(CLI::App& app, Output& output);
/// Adds `--device`, whose text is `help`.
void add_device(CLI::App& app, std::string& device, const std::string& help);
/// Adds `--set KEY=VALUE`, which may come several times and whose text is `help`.
void add_settings(CLI::App& app, std::vector<std::string>& settings, const std::string& help);
/// Adds `--db`, whose text is `help`.
void add_database(CLI::App& app, std::string& path, const std::string& help);

// --- programs ----------------------------------------------------------------------------------

/// Gives a program `--version`, the help of 80 columns, and the end of its help: examples, one a
/// line, notes, and the exit codes.
void set_up_program(CLI::App& app, const std::string& examples, const std::string& notes = "");
/// Ends the help of a subcommand: its examples, one a line, and notes.
void set_footer(CLI::App& command, const std::string& examples, const std::string& notes = "");

}  // namespace db::options
