#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "moe/input/value.h"

namespace moe {

/// A config.json that is read, key by key. Valid as long as its document.
class Config {
 public:
  explicit Config(const InputDocument& document) : root_(document.object()) {}

  /// The value of a key; none where it is missing or null.
  std::optional<InputValue> given(std::string_view key) const;
  static std::optional<InputValue> given(const InputObject& object, std::string_view key);
  /// True where the key stands there, and its value is null.
  bool is_null(std::string_view key) const;
  /// A whole number from `least`; `fallback` where the file has none.
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t least = 0) const;
  bool flag(std::string_view key, bool fallback) const;

  const InputObject& root() const { return root_; }
  /// The keys with a value that somebody has asked for, and those that nobody has.
  std::vector<std::string> read() const { return with_value(true); }
  std::vector<std::string> unread() const { return with_value(false); }

 private:
  std::vector<std::string> with_value(bool asked_for) const;

  InputObject root_;
  mutable std::set<std::string, std::less<>> asked_for_;
};

}  // namespace moe
