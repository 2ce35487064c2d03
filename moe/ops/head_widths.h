#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace moe {

/// Columns of a head of queries and of keys, and of a head of values.
struct HeadWidths {
  std::int64_t keys = 0;
  std::int64_t values = keys;
};

/// Those of rows of `columns` elements: all heads of q, then those of k, then those of v.
/// `value_width` 0: values are as wide as keys. Throws std::logic_error, which names `op`, where
/// they do not divide.
inline HeadWidths head_widths(std::int64_t columns, std::int64_t heads,
                              std::int64_t key_value_heads, std::int64_t value_width,
                              const char* op) {
  const std::int64_t of_keys = heads + key_value_heads;
  const std::int64_t alike = value_width > 0 ? of_keys : of_keys + key_value_heads;
  const std::int64_t left = columns - key_value_heads * value_width;
  if (heads < 1 || key_value_heads < 1 || left < 0 || left % alike != 0) {
    throw std::logic_error(
        std::string(op) + ": " + std::to_string(columns) + " columns for " + std::to_string(heads) +
        " heads and " + std::to_string(key_value_heads) + " of keys and values" +
        (value_width > 0 ? " of width " + std::to_string(value_width) : std::string()));
  }
  return {left / alike, value_width > 0 ? value_width : left / alike};
}

}  // namespace moe
