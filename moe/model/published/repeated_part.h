#pragma once

#include <string>

namespace moe {

/// The shortest begin of a pattern of letters that makes it when it is repeated.
inline std::string repeated_part(const std::string& pattern) {
  for (std::size_t length = 1; length < pattern.size(); ++length) {
    bool is_repeated = true;
    for (std::size_t i = length; i < pattern.size() && is_repeated; ++i) {
      is_repeated = pattern[i] == pattern[i % length];
    }
    if (is_repeated) return pattern.substr(0, length);
  }
  return pattern;
}

}  // namespace moe
