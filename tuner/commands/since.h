#pragma once

#include <optional>
#include <string>

namespace tuner {

/// The seconds of "90s", "30m", "2h" or "1d"; none for any other text.
std::optional<double> parse_duration(const std::string& text);

/// The instant, in Unix seconds, that a text means at `now`: "2026-11-23", "2026-11-23 06:10" or
/// "2026-11-23 06:10:30" (UTC, as moe-db prints instants; T may stand for the blank), or an age:
/// "30m", "12h", "7d". None for any other text.
std::optional<double> parse_since(const std::string& text, double now);

}  // namespace tuner
