#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// Figures as people read them.
namespace viewer {

struct TimeUnit {
  const char* name;
  double seconds;
};

/// The unit in which `seconds` has one to three digits before the point: ns, µs, ms or s.
TimeUnit time_unit(double seconds);

/// 12,345.60: `value` rounded to `decimals`, thousands grouped by commas.
std::string grouped(double value, int decimals);

/// "1.234 ms", "45.10 µs", "0 s".
std::string duration_text(double seconds, int significant_digits = 4);

/// "12.3 MiB", "512 B": powers of 1024, as the other programs print them. Rates are powers of 1000.
std::string bytes_text(double bytes);

/// bytes / duration as "1.87 GB/s"; empty if either is not
/// positive.
std::string bandwidth_text(double bytes, double duration_s);

/// Units are powers of 1000: "134 MFLOP".
std::string flops_text(double flops);

/// flops / duration as "205 GFLOP/s"; empty if either is not positive.
std::string flop_rate_text(double flops, double duration_s);

/// "2024-05-31 14:03" in local time.
std::string instant_text(double unix_seconds);

/// "38.5%".
std::string percent_text(double share);

/// How long a run took: "12.3 s", "4 min 10 s", "2 h 5 min", "7 days".
std::string long_duration_text(double seconds);

}  // namespace viewer
