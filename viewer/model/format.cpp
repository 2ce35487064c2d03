#include "viewer/model/format.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

namespace viewer {

namespace {

// `significant` digits, but never a digit of the integer part dropped.
std::string digits(double value, int significant) {
  const double magnitude = std::abs(value);
  const int before = magnitude < 10 ? 1 : magnitude < 100 ? 2 : magnitude < 1000 ? 3 : 4;
  return grouped(value, std::max(0, significant - before));
}

}  // namespace

TimeUnit time_unit(double seconds) {
  const double magnitude = std::abs(seconds);
  if (magnitude >= 1) return {"s", 1};
  if (magnitude >= 1e-3) return {"ms", 1e-3};
  if (magnitude >= 1e-6) return {"\u00b5s", 1e-6};
  return {"ns", 1e-9};
}

std::string grouped(double value, int decimals) {
  std::string plain = fmt::format("{:.{}f}", value, decimals);
  if (plain.find_first_of("123456789") == std::string::npos && plain[0] == '-') plain.erase(0, 1);
  const std::size_t point = std::min(plain.find('.'), plain.size());
  std::string text;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const bool after_digit = i > 0 && plain[i - 1] != '-';
    if (i < point && after_digit && (point - i) % 3 == 0) text.push_back(',');
    text.push_back(plain[i]);
  }
  return text;
}

std::string duration_text(double seconds, int significant_digits) {
  if (seconds == 0) return "0 s";
  // 999.93 ms would be printed as 1,000.
  const double rounded_up = seconds / (1 - 0.5 * std::pow(10, -significant_digits));
  const TimeUnit unit = time_unit(rounded_up);
  return fmt::format("{} {}", digits(seconds / unit.seconds, significant_digits), unit.name);
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  // 1023.6 KiB would be printed as 1,024.
  while (std::abs(bytes) >= (unit == 0 ? 1024 : 1023.5) && unit + 1 < kUnits.size()) {
    bytes /= 1024, ++unit;
  }
  return fmt::format("{} {}", unit == 0 ? grouped(bytes, 0) : digits(bytes, 3), kUnits[unit]);
}

std::string bandwidth_text(double bytes, double duration_s) {
  if (!(bytes > 0) || !(duration_s > 0)) return {};
  const double rate = bytes / duration_s;
  if (rate < 1e6) return fmt::format("{} kB/s", digits(rate / 1e3, 3));
  if (rate < 1e9) return fmt::format("{} MB/s", digits(rate / 1e6, 3));
  return fmt::format("{} GB/s", digits(rate / 1e9, 3));
}

std::string flops_text(double flops) {
  constexpr std::array<const char*, 5> kUnits = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  std::size_t unit = 0;
  while (std::abs(flops) >= 1000 && unit + 1 < kUnits.size()) flops /= 1000, ++unit;
  return fmt::format("{} {}", unit == 0 ? grouped(flops, 0) : digits(flops, 3), kUnits[unit]);
}

std::string flop_rate_text(double flops, double duration_s) {
  if (!(flops > 0) || !(duration_s > 0)) return {};
  const double rate = flops / duration_s;
  if (rate < 1e9) return fmt::format("{} MFLOP/s", digits(rate / 1e6, 3));
  if (rate < 1e12) return fmt::format("{} GFLOP/s", digits(rate / 1e9, 3));
  return fmt::format("{} TFLOP/s", digits(rate / 1e12, 3));
}

std::string instant_text(double unix_seconds) {
  if (!(unix_seconds > 0)) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(unix_seconds)));
}

std::string percent_text(double share) { return fmt::format("{:.1f}%", share * 100); }

std::string long_duration_text(double seconds) {
  if (seconds < 60) return duration_text(seconds, 3);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} days", whole / 86400);
}

}  // namespace viewer
