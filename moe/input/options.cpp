#include "moe/input/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>

#include "moe/input/size.h"

namespace moe {
namespace {

template <class Number>
std::optional<Number> all_of(const std::string& text) {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

std::string got(const std::string& text) { return fmt::format(", got \"{}\"", shortened(text)); }

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [=](const std::string& text) {
    const auto number = all_of<std::int64_t>(text);
    if (number && *number >= least && *number <= most) return std::string();
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    // What is too large is told of the bound that it exceeds.
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
    try {
      if (const std::int64_t bytes = parse_size(text); bytes > 0) {
        text = fmt::to_string(bytes);
        return std::string();
      }
    } catch (const std::invalid_argument&) {
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

}  // namespace moe
