#include "db/console/help_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace db {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kSecondColumn = 28;
constexpr char kNoBreak = '\1';  // a blank at which no line ends

std::string two_columns(const std::string& left, const std::string& right) {
  std::string text = "  " + left;
  if (text.size() + 2 > kSecondColumn) {
    text += "\n" + std::string(kSecondColumn, ' ');
  } else {
    text.resize(kSecondColumn, ' ');
  }
  return text + wrapped(right, kSecondColumn, kSecondColumn) + "\n";
}

/// "--a and --b", in the order of the alphabet: CLI11 has them in the order of their addresses.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* option : options) names.insert(option->get_name());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
  return text;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t indent, std::size_t first) {
  const std::string new_line = "\n" + std::string(indent, ' ');
  std::string result;
  std::size_t column = first;
  bool line_begins = true;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      result += new_line;
      column = indent;
      line_begins = true;
      ++at;
      continue;
    }
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::size_t length = end - at;
    if (!line_begins && column + 1 + length > kWidth) {
      result += new_line;
      column = indent;
      line_begins = true;
    }
    if (!line_begins) result += ' ';
    result += text.substr(at, length);
    column += length + (line_begins ? 0 : 1);
    line_begins = false;
    at = end;
  }
  std::replace(result.begin(), result.end(), kNoBreak, ' ');
  return result;
}

std::string wrapped_lines(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!result.empty()) result += '\n';
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const bool fits = line.size() <= kWidth;
    result += fits ? line : std::string(indent, ' ') + wrapped(line.substr(indent), indent, indent);
  }
  return result;
}

std::string HelpText::make_help(const CLI::App* app, std::string name,
                                CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
  return text;
}

std::string HelpText::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0) + "\n";
}

std::string HelpText::make_option(const CLI::Option* option, bool is_positional) const {
  std::string left = make_option_name(option, is_positional);
  // The library appends the value that a flag has by itself, as in --flag{value}.
  if (const auto brace = left.find('{'); brace != std::string::npos) {
    left = left.substr(0, brace) + "[=VALUE]";
  }
  if (option->get_type_size() != 0 && !option->get_type_name().empty()) {
    left += " " + option->get_type_name();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) left += " ...";
  }
  std::string right = option->get_description();
  if (option->get_required()) right += " (required)";
  if (!option->get_default_str().empty()) {
    right += fmt::format(" [default:{}{}]", kNoBreak, option->get_default_str());
  }
  if (!option->get_needs().empty()) right += "; needs " + names_of(option->get_needs());
  if (!option->get_excludes().empty()) right += "; not with " + names_of(option->get_excludes());
  return two_columns(left, right);
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description());
}

}  // namespace db
