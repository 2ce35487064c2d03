#include "db/console/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>

#include "db/console/exit_codes.h"
#include "db/console/help_text.h"
#include "db/console/log.h"
#include "db/console/size.h"
#include "db/console/version.h"

namespace db::options {
namespace {

template <class Number>
std::optional<Number> all_of(const std::string& text) {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

std::string got(const std::string& text) { return fmt::format(", got \"{}\"", shortened(text)); }

/// "Example:" or "Examples:", then each indented.
std::string example_text(const std::string& examples) {
  const bool several = examples.find('\n') != std::string::npos;
  std::string text = several ? "Examples:\n  " : "Example:\n  ";
  for (const char c : examples) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return text;
}

}  // namespace

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
    return fmt::format("expected {}{}", fmt::join(words, ", "), got(text));
  };
  return {check, ""};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [=](const std::string& text) {
    const auto number = all_of<std::int64_t>(text);
    if (number && *number >= least && *number <= most) return std::string();
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    // A number that is too large gets a message with the upper bound.
    const std::string range = digits && most == kAnyInteger
                                  ? fmt::format("an integer from {} to {}", least, most)
                                  : integer_range(least, most);
    return "expected " + range + got(text);
  };
  return {check, ""};
}

CLI::Validator seconds(bool zero) {
  const auto check = [=](const std::string& text) {
    const auto number = all_of<double>(text);
    if (number && (*number > 0 || (zero && *number == 0)) && *number <= kMostSeconds) {
      return std::string();
    }
    return fmt::format("expected seconds {} to {:.0f}{}", zero ? "from 0" : "above 0", kMostSeconds,
                       got(text));
  };
  return {check, ""};
}

CLI::Validator share() {
  const auto check = [](const std::string& text) {
    const auto number = all_of<double>(text);
    if (number && *number >= 0 && *number <= 1) return std::string();
    return fmt::format("expected a share from 0 to 1{}", got(text));
  };
  return {check, ""};
}

CLI::Validator number_from_zero() {
  const auto check = [](const std::string& text) {
    const auto number = all_of<double>(text);
    if (number && *number >= 0 && *number <= std::numeric_limits<double>::max()) {
      return std::string();
    }
    return fmt::format("expected a number of at least 0{}", got(text));
  };
  return {check, ""};
}

CLI::Validator gigabits_per_second() {
  const auto check = [](const std::string& text) {
    const auto number = all_of<double>(text);
    if (number && (*number == 0 || (*number >= 1e-3 && *number <= 1e6))) return std::string();
    return fmt::format("expected 0, or Gbit/s from 0.001 to 1000000{}", got(text));
  };
  return {check, ""};
}

CLI::Validator size_in_bytes() {
  const auto replace = [](std::string& text) {
    if (const auto bytes = parse_size(text); bytes.value_or(0) > 0) {
      text = fmt::to_string(*bytes);
      return std::string();
    }
    return "expected bytes, at least 1, with or without K, M, G or T" + got(text);
  };
  return {replace, ""};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    const bool sound = !text.empty() && std::none_of(text.begin(), text.end(), [](unsigned char c) {
      return c < ' ' || c == 127;
    });
    return sound ? std::string() : "expected a text on one line" + got(text);
  };
  return {check, ""};
}

Style Output::style(std::FILE* file) const {
  return {*parse_format(format), use_color(color, file)};
}

void add_output(CLI::App& app, Output& output) {
  app.add_option("--format", output.format,
                 "how results are written: as a table for people, or as CSV or JSON for programs")
      ->check(one_of({"table", "csv", "json"}))
      ->type_name("table|csv|json")
      ->capture_default_str()
      ->group("Output");
  app.add_option("--color", output.color,
                 "whether a table has colours; auto: on a terminal, unless NO_COLOR is set")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("auto|always|never")
      ->capture_default_str()
      ->group("Output");
}

void add_device(CLI::App& app, std::string& device, const std::string& help) {
  app.add_option("--device", device, help)
      ->check(one_of({"cpu", "cuda"}))
      ->type_name("cpu|cuda")
      ->capture_default_str();
}

void add_settings(CLI::App& app, std::vector<std::string>& settings, const std::string& help) {
  app.add_option("--set", settings, help)
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("KEY=VALUE");
}

void add_database(CLI::App& app, std::string& path, const std::string& help) {
  app.add_option("--db", path, help)->check(not_empty())->type_name("FILE");
}

void set_up_program(CLI::App& app, const std::string& examples, const std::string& notes) {
  app.formatter(std::make_shared<HelpText>());
  app.fallthrough();  // subcommands know these options too
  add_log_options(app);
  app.set_version_flag("--version", version_line(app.get_name()), "print version and build");
  const std::string paragraph = notes.empty() ? "" : wrapped_lines(notes) + "\n\n";
  app.footer(example_text(examples) + "\n\n" + paragraph + kExitCodeHelp);
}

void set_footer(CLI::App& command, const std::string& examples, const std::string& notes) {
  command.footer(example_text(examples) + (notes.empty() ? "" : "\n\n" + wrapped_lines(notes)));
}

}  // namespace db::options
