#include "moe/model/rotary_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "moe/model/attention_keys.h"
#include "moe/model/latent_keys.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, 4> kScalings{"none", "linear", "llama3", "yarn"};

const ModelKey& rotary_key(std::string_view name) { return key_named(rotary_keys::kKeys, name); }

AngleScaling scaling_of(const Model& model) {
  const auto name = std::get<std::string>(own_value(rotary_key("rotary_scaling"), model));
  return static_cast<AngleScaling>(std::ranges::find(kScalings, name) - kScalings.begin());
}

/// `has`: the scaling takes the key.
std::string refuse_of_scaling(const Model& model, bool has, std::string_view expected) {
  if (model.positions != Positions::rotary) return rotary_keys::refuse_without_rotary(model, {});
  if (has) return "";
  return fmt::format("rotary_scaling = \"{}\" has no use for it: expected {}, or no such key",
                     kScalings[static_cast<std::size_t>(scaling_of(model))], expected);
}

}  // namespace

namespace rotary_keys {

bool has_latents(const ModelKey&, const Model& model) { return latent_attention(model).rank > 0; }

std::vector<std::string_view> names_of_scalings() { return {kScalings.begin(), kScalings.end()}; }

std::string refuse_without_rotary(const Model& model, const KeyValue&) {
  if (model.positions == Positions::rotary) return "";
  return "positions = \"learned\" turn nothing: expected no such key, or positions = \"rotary\"";
}

std::string refuse_pattern(const Model& model, const KeyValue& value) {
  const auto& pattern = std::get<std::string>(value);
  if (pattern.find_first_not_of("tn") != std::string::npos) {
    return fmt::format("expected letters t (turns) and n (has no positions), got \"{}\"", pattern);
  }
  return refuse_without_rotary(model, value);
}

std::string refuse_without_norms(const Model& model, const KeyValue& value) {
  if (model.query_key_norm != QueryKeyNorms::none || value == KeyValue(false)) return "";
  return "query_key_norm = \"none\" norms nothing: expected another beside it, or no such key";
}

std::string refuse_columns(const Model& model, const KeyValue& value) {
  const auto columns = std::get<std::int64_t>(value);
  if (columns % 2 == 0 && columns <= head_width(model)) return "";
  return fmt::format("expected an even number of at most head_width = {}, got {}",
                     head_width(model), columns);
}

std::string refuse_without_scaling(const Model& model, const KeyValue&) {
  return refuse_of_scaling(model, scaling_of(model) != AngleScaling::none, "a rotary_scaling");
}

std::string refuse_without_turns(const Model& model, const KeyValue&) {
  const AngleScaling scaling = scaling_of(model);
  return refuse_of_scaling(model, scaling == AngleScaling::llama3 || scaling == AngleScaling::yarn,
                           "\"llama3\" or \"yarn\"");
}

std::string refuse_without_yarn(const Model& model, const KeyValue&) {
  return refuse_of_scaling(model, scaling_of(model) == AngleScaling::yarn, "\"yarn\"");
}

}  // namespace rotary_keys

bool turns(const Model& model, int block) {
  if (model.positions != Positions::rotary) return false;
  const auto pattern = std::get<std::string>(own_value(rotary_key("rotary_pattern"), model));
  return pattern[static_cast<std::size_t>(block) % pattern.size()] == 't';
}

bool turns_before_norms(const Model& model) {
  return std::get<bool>(own_value(rotary_key("query_key_norm_turned"), model));
}

std::string rotary_refusal(const Model& model) {
  if (model.positions != Positions::rotary) return "";
  const RotaryAngles angles = rotary_angles(model);
  if (head_width(model) % 2 != 0 && angles.columns == head_width(model)) {
    return fmt::format(
        "positions = \"rotary\" turn pairs of columns: expected heads of even width, "
        "or fewer rotary_columns, got head_width = {}",
        head_width(model));
  }
  // YaRN makes whole numbers of two alike, outwards.
  const bool yarn = angles.scaling == AngleScaling::yarn;
  if ((angles.scaling == AngleScaling::llama3 && angles.slow_turns >= angles.fast_turns) ||
      (yarn && angles.slow_turns > angles.fast_turns)) {
    return fmt::format("rotary_slow_turns: expected {} rotary_fast_turns = {}, got {}",
                       yarn ? "at most" : "less than", angles.fast_turns, angles.slow_turns);
  }
  return "";
}

RotaryAngles rotary_angles(const Model& model, int block) {
  RotaryAngles angles;
  angles.base = rotary_base(model, block);
  angles.columns = own_integer(rotary_key("rotary_columns"), model);
  angles.scaling = scales_angles(model, block) ? scaling_of(model) : AngleScaling::none;
  if (angles.scaling == AngleScaling::none) return angles;
  angles.factor = own_number(rotary_key("rotary_factor"), model);
  angles.trained_length =
      static_cast<double>(own_integer(rotary_key("rotary_trained_length"), model));
  angles.slow_turns = own_number(rotary_key("rotary_slow_turns"), model);
  angles.fast_turns = own_number(rotary_key("rotary_fast_turns"), model);
  if (angles.scaling != AngleScaling::yarn) return angles;
  angles.magnitude = own_number(rotary_key("rotary_magnitude"), model);
  angles.whole_pairs = std::get<bool>(own_value(rotary_key("rotary_whole_pairs"), model));
  return angles;
}

}  // namespace moe
