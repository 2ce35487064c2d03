#include "moe/model/attention_keys.h"

#include <fmt/format.h>

#include <string>

#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

KeyValue value_of(std::string_view name, const Model& model) {
  return own_value(key_named(attention_keys::kKeys, name), model);
}

bool has_window(const Model& model, int block) {
  return block >= 0 && attention_window(model, block) > 0;
}

}  // namespace

namespace attention_keys {

std::string refuse_pattern(const Model& model, const KeyValue& value) {
  const auto& pattern = std::get<std::string>(value);
  if (pattern.find_first_not_of("sf") != std::string::npos) {
    return fmt::format("expected letters s (has the window) and f (sees all), got \"{}\"", pattern);
  }
  if (std::get<std::int64_t>(value_of("window", model)) > 0) return "";
  return "there is no window: expected one beside it, or no such key";
}

std::string refuse_base_without_window(const Model& model, const KeyValue&) {
  const bool has_window = std::get<std::int64_t>(value_of("window", model)) > 0;
  if (has_window && model.positions == Positions::rotary) return "";
  return "there is no window with positions = \"rotary\": expected both beside it, or no such key";
}

std::string refuse_scaling_without_window(const Model& model, const KeyValue& scaled) {
  if (scaled == KeyValue(true)) return "";
  if (const std::string refusal = refuse_base_without_window(model, scaled); !refusal.empty()) {
    return refusal;
  }
  return rotary_keys::refuse_without_scaling(model, scaled);
}

}  // namespace attention_keys

std::int64_t attention_window(const Model& model, int block) {
  const auto window = std::get<std::int64_t>(value_of("window", model));
  if (window == 0) return 0;
  const auto pattern = std::get<std::string>(value_of("window_pattern", model));
  return pattern[static_cast<std::size_t>(block) % pattern.size()] == 's' ? window : 0;
}

bool has_attention_sinks(const Model& model) {
  return std::get<bool>(value_of("attention_sinks", model));
}

double attention_scale(const Model& model) {
  const KeyValue value = value_of("attention_scale", model);
  const double* number = std::get_if<double>(&value);
  return number == nullptr ? 0 : *number;
}

bool scales_angles(const Model& model, int block) {
  return !has_window(model, block) || std::get<bool>(value_of("window_rotary_scaling", model));
}

double rotary_base(const Model& model, int block) {
  return has_window(model, block) ? std::get<double>(value_of("window_rotary_base", model))
                                  : model.rotary_base;
}

}  // namespace moe
