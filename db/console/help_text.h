#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace db {

/// `text` in lines of at most 80 columns. Its own line breaks stay. Every line but the first begins
/// with `indent` blanks. `first` columns of the first line are taken already.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t first = 0);

/// `text` with every line that is longer than 80 columns wrapped to the blanks it begins with.
std::string wrapped_lines(const std::string& text);

/// The form of `--help`: two columns within 80, with the default value after each text.
class HelpText : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace db
