#include "moe/model/block_pattern.h"

#include <fmt/format.h>

namespace moe {

std::string_view block_pattern(const Model& model) {
  const auto found = model.own.find(block_keys::kPattern.name);
  return found == model.own.end() ? kByPeriod : std::get<std::string>(found->second);
}

namespace block_keys {

std::string refuse_pattern(const Model& model, const KeyValue& value) {
  const auto& pattern = std::get<std::string>(value);
  if (pattern == kByPeriod) return "";
  if (pattern.find_first_not_of("de") != std::string::npos) {
    return fmt::format("expected letters d (dense) and e (experts), or \"{}\", got \"{}\"",
                       kByPeriod, pattern);
  }
  if (pattern.size() <= static_cast<std::size_t>(model.blocks)) return "";
  return fmt::format("expected at most blocks = {} letters, got {}", model.blocks, pattern.size());
}

std::string refuse_period(const Model& model, const KeyValue&) {
  if (block_pattern(model) == kByPeriod) return "";
  return fmt::format(
      "block_pattern = \"{}\" says which blocks have experts: expected no such key beside it, or "
      "block_pattern = \"{}\"",
      block_pattern(model), kByPeriod);
}

}  // namespace block_keys
}  // namespace moe
