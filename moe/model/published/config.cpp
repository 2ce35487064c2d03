#include "moe/model/published/config.h"

namespace moe {

std::optional<InputValue> Config::given(std::string_view key) const {
  asked_for_.emplace(key);
  return given(root_, key);
}

std::optional<InputValue> Config::given(const InputObject& object, std::string_view key) {
  auto value = object.optional_member(key);
  return value && !value->is_null() ? value : std::nullopt;
}

bool Config::is_null(std::string_view key) const {
  const auto value = root_.optional_member(key);
  return value && value->is_null();
}

std::int64_t Config::integer(std::string_view key, std::int64_t fallback,
                             std::int64_t least) const {
  const auto value = given(key);
  return value ? value->integer(least) : fallback;
}

bool Config::flag(std::string_view key, bool fallback) const {
  const auto value = given(key);
  return value ? value->boolean() : fallback;
}

std::vector<std::string> Config::with_value(bool asked_for) const {
  std::vector<std::string> keys;
  for (const std::string& key : root_.keys()) {
    if (asked_for_.contains(key) == asked_for && !root_.member(key).is_null()) keys.push_back(key);
  }
  return keys;
}

}  // namespace moe
