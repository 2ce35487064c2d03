#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string_view>

#include "moe/input/value.h"

/// Checks for numbers of a command line. CLI11 by itself takes "true" for 1, NaN for positive, and
/// negative numbers wherever nobody forbids them.
namespace moe {

/// MPI jobs and predictions of more ranks than this are mistakes.
inline constexpr int kMostRanks = 4096;
inline constexpr int kMostThreads = 1024;
inline constexpr double kMostSeconds = 1e7;  ///< four months; clocks add it to a time without care

/// Digits only, within [least, most].
CLI::Validator whole_number(std::int64_t least, std::int64_t most = kAnyInteger);
/// Seconds above 0 (or, with `zero`, of 0) up to kMostSeconds; never NaN.
CLI::Validator seconds(bool zero = false);
/// A number from 0 to 1; never NaN.
CLI::Validator share();
/// Gbit/s of a link, at least 0.001; 0 = no such link.
CLI::Validator gigabits_per_second();
/// Replaces "2G" by its number of bytes; at least 1.
CLI::Validator size_in_bytes();
/// Neither empty nor of control characters.
CLI::Validator not_empty();

}  // namespace moe
