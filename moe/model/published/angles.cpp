#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "moe/input/json.h"
#include "moe/model/attention_keys.h"
#include "moe/model/published/parts.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

constexpr double kLargestBase = 1e30;
constexpr const char* kTurnedShare = "partial_rotary_factor";
constexpr const char *kKindOfLayer = "full_attention", *kKindWithWindow = "sliding_attention";
constexpr const char* kTrainedLength = "original_max_position_embeddings";

double base_of(const InputValue& value) {
  return value.number(1, kLargestBase, "a number of at least 1");
}

/// The keys of angles of every kind, and those of one kind.
bool is_known(std::string_view key, std::string_view scaling) {
  constexpr std::array<std::string_view, 4> all{"partial_rotary_factor", "rope_theta", "rope_type",
                                                "type"};
  constexpr std::array<std::string_view, 4> llama3{"factor", "high_freq_factor", "low_freq_factor",
                                                   "original_max_position_embeddings"};
  constexpr std::array<std::string_view, 8> yarn{"attention_factor",
                                                 "beta_fast",
                                                 "beta_slow",
                                                 "factor",
                                                 "mscale",
                                                 "mscale_all_dim",
                                                 "original_max_position_embeddings",
                                                 "truncate"};
  if (std::ranges::find(all, key) != all.end()) return true;
  if (scaling == "linear") return key == "factor";
  if (scaling == "llama3") return std::ranges::find(llama3, key) != llama3.end();
  return scaling == "yarn" && std::ranges::find(yarn, key) != yarn.end();
}

std::string_view scaling_of(const InputObject& rope) {
  static const std::vector<std::string_view> kinds{"default", "linear", "llama3", "yarn"};
  std::string_view found;
  for (const char* key : {"rope_type", "type"}) {
    const auto type = Config::given(rope, key);
    if (!type) continue;
    const std::string_view kind = kinds[type->one_of(kinds)];
    if (!found.empty() && found != kind) type->fail(fmt::format("rope_type = \"{}\"", found));
    found = kind;
  }
  return found.empty() ? kinds.front() : found;
}

double number_in(const InputObject& rope, const char* key, double fallback) {
  const auto value = Config::given(rope, key);
  if (!value) return fallback;
  const double number = value->number(0, kLargestBase, "a number of at least 0");
  return number > 0 ? number : fallback;  // as Python's `or`
}

double magnitude_of(const InputObject& rope, double factor) {
  if (const auto given = Config::given(rope, "attention_factor")) {
    return given->number(1e-30, kLargestBase, "a number above 0");
  }
  const double weight = number_in(rope, "mscale", 0), of_all = number_in(rope, "mscale_all_dim", 0);
  if (weight > 0 && of_all > 0)
    return parts::yarn_magnitude(factor, weight) / parts::yarn_magnitude(factor, of_all);
  return parts::yarn_magnitude(factor, 1);
}

void read_scaling(const Config& config, const PublishedClass& of, const InputObject& rope,
                  Model& model) {
  const std::string_view scaling = scaling_of(rope);
  for (const std::string& key : rope.keys()) {
    if (is_known(key, scaling)) continue;
    const auto value = Config::given(rope, key);
    if (value) value->fail(fmt::format("no such key beside rope_type = \"{}\"", scaling));
  }
  if (scaling == "default") return;
  const auto positions =
      static_cast<double>(config.integer("max_position_embeddings", of.positions, 1));
  const auto outer = config.given(kTrainedLength), inner = Config::given(rope, kTrainedLength);
  double trained = outer ? static_cast<double>(outer->integer(1)) : positions;
  if (inner && outer && number_in(rope, kTrainedLength, trained) != trained) {
    inner->fail(fmt::format("{} = {:g}, as it is outside", kTrainedLength, trained));
  }
  trained = number_in(rope, kTrainedLength, trained);
  const auto given = Config::given(rope, "factor");
  if (!given && scaling != "yarn") rope.refuse("factor", "is missing");
  const double factor =
      given ? given->number(1, kLargestBase, "a number of at least 1") : positions / trained;
  set_declared(model, "rotary_scaling", scaling);
  set_declared(model, "rotary_factor", factor);
  if (scaling == "linear") return;
  set_declared(model, "rotary_trained_length", static_cast<std::int64_t>(trained));
  if (scaling == "llama3") {
    set_declared(model, "rotary_slow_turns",
                 rope.number("low_freq_factor", 1e-30, kLargestBase, "a number above 0"));
    set_declared(model, "rotary_fast_turns",
                 rope.number("high_freq_factor", 1e-30, kLargestBase, "a number above 0"));
    return;
  }
  set_declared(model, "rotary_slow_turns", number_in(rope, "beta_slow", 1));
  set_declared(model, "rotary_fast_turns", number_in(rope, "beta_fast", 32));
  set_declared(model, "rotary_magnitude", magnitude_of(rope, factor));
  const auto whole = Config::given(rope, "truncate");
  if (of.angles_by_kind && whole && !whole->boolean()) {
    whole->fail("true: of a kind of layers transformers reads no other");
  }
  set_declared(model, "rotary_whole_pairs", whole ? whole->boolean() : true);
}

/// base alpha^(W / (W - 2)) in place of other scalings, for heads of W columns, and whatever other
/// keys there are  [HunYuan]
bool stretched_base(const PublishedClass& of, const InputObject& rope, Model& model) {
  const auto type = Config::given(rope, Config::given(rope, "rope_type") ? "rope_type" : "type"),
             alpha = Config::given(rope, "alpha");
  if (!of.stretches_base || !alpha || !type || !type->is("dynamic")) return false;
  const auto width = static_cast<double>(head_width(model));
  const double stretch = alpha->number(1, kLargestBase, "a number of at least 1");
  model.rotary_base *= std::pow(stretch, width / (width - 2));
  return true;
}

/// Of each head of `width`.
std::int64_t columns_that_turn(const Config& config, const PublishedClass& of,
                               const InputObject& rope, std::int64_t width) {
  const auto outer = config.given(kTurnedShare), inner = Config::given(rope, kTurnedShare);
  const auto columns_of = [&](double share) {
    return static_cast<std::int64_t>(static_cast<double>(width) * share);
  };
  if (!inner && !outer) return columns_of(of.turned_share);
  const auto share_in = [](const InputValue& value) {
    return value.number(1e-30, 1, "a number from 0 to 1");
  };
  const InputValue& given = inner ? *inner : *outer;
  const double share = share_in(given);
  if (outer && share_in(*outer) != share) {
    given.fail(fmt::format("{} = {:g}, as it is outside", kTurnedShare, share_in(*outer)));
  }
  const std::int64_t columns = columns_of(share);
  if (!of.turns_part && share != 1) {
    given.fail(fmt::format("1: {} turns whole heads", of.name));
  }
  if (columns < 1 || (columns % 2 != 0 && columns < width)) {
    given.fail(
        fmt::format("a share of the {} columns of a head that is an even number of them", width));
  }
  return columns;
}

void read_angles(const Config& config, const PublishedClass& of, Model& model) {
  const InputDocument of_class = parse_json(of.angles, std::string(of.name));
  const auto given = parts::rope_of(config, of);
  if (!given && of.angles != "{}" && config.root().has("rope_scaling")) {
    config.root()
        .member("rope_scaling")
        .fail(R"({"rope_type": "default"} or angles that are scaled: version 4 of transformers )"
              "takes it for no scaling, version 5 for that of the class");
  }
  const InputObject rope = given ? *given : of_class.object();
  const auto inner = Config::given(rope, "rope_theta"), outer = config.given("rope_theta");
  if (inner && outer && base_of(*inner) != base_of(*outer)) {
    inner->fail(fmt::format("rope_theta = {:g}, as it is outside", base_of(*outer)));
  }
  model.rotary_base = of.rotary_base;
  if (inner || outer) model.rotary_base = base_of(inner ? *inner : *outer);
  if (!stretched_base(of, rope, model)) read_scaling(config, of, rope, model);

  const std::int64_t columns = columns_that_turn(config, of, rope, head_width(model));
  if (columns != head_width(model)) set_declared(model, "rotary_columns", columns);
}

/// The share of `columns` that is read as so many.
double share_of(std::int64_t columns, std::int64_t width) {
  const double share = static_cast<double>(columns) / static_cast<double>(width);
  const bool is_less = static_cast<std::int64_t>(static_cast<double>(width) * share) < columns;
  return is_less ? std::nextafter(share, 1) : share;
}

/// As the library's versions 4 and 5 both read it.
void write_angles(const Model& model, const PublishedClass& of, Json& config) {
  const RotaryAngles angles = rotary_angles(model);
  const std::int64_t width = head_width(model),
                     columns = angles.columns > 0 ? angles.columns : width;
  config["rope_theta"] = model.rotary_base;
  if (of.turns_part && (columns != width || of.turned_share != 1)) {
    config[kTurnedShare] = share_of(columns, width);
  }
  config["rope_scaling"] = nullptr;
  if (of.angles != "{}") config["rope_scaling"] = {{"rope_type", "default"}};
  if (angles.scaling == AngleScaling::none) return;
  Json rope{
      {"rope_type", rotary_keys::names_of_scalings()[static_cast<std::size_t>(angles.scaling)]},
      {"factor", angles.factor}};
  if (angles.scaling != AngleScaling::linear) {
    rope["original_max_position_embeddings"] = static_cast<std::int64_t>(angles.trained_length);
    const bool yarn = angles.scaling == AngleScaling::yarn;
    rope[yarn ? "beta_slow" : "low_freq_factor"] = angles.slow_turns;
    rope[yarn ? "beta_fast" : "high_freq_factor"] = angles.fast_turns;
    if (yarn) {
      rope["attention_factor"] = angles.magnitude;
      rope["truncate"] = angles.whole_pairs;
    }
  }
  config["rope_scaling"] = rope;
}

}  // namespace

/// [YaRN, Peng et al. 2023, Eq. 22]
double parts::yarn_magnitude(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

std::optional<InputObject> parts::rope_of(const Config& config, const PublishedClass& of) {
  const auto scaling = config.given("rope_scaling"), parameters = config.given("rope_parameters");
  if (scaling && parameters) {
    scaling->refuse("stands beside rope_parameters: expected one of them");
  }
  if (!scaling && !parameters) return std::nullopt;
  const InputObject all = (scaling ? scaling : parameters)->object();
  if (all.keys().empty()) return std::nullopt;  // false to Python
  if (of.angles_by_kind) return all.object(kKindOfLayer);
  for (const char* kind : {kKindOfLayer, kKindWithWindow}) {
    if (const auto one = Config::given(all, kind)) {
      one->fail(
          fmt::format("no such key: {} has one kind of angles. transformers does not read "
                      "them here: they belong beside it",
                      of.name));
    }
  }
  return all;
}

const ConfigPart parts::angles{read_angles, write_angles};

namespace {

constexpr double kBaseWithWindow = 10000;  // of Mellum, where the file has no angles

bool has_windows(const Model& model) {
  for (int block = 0; block < model.blocks; ++block) {
    if (attention_window(model, block) > 0) return true;
  }
  return false;
}

void read_angles_by_kind(const Config& config, const PublishedClass&, Model& model) {
  if (const auto outside = config.given("rope_theta")) {
    outside->fail("no such key: rope_parameters has that of each kind of layer");
  }
  if (!has_windows(model)) return;
  double base = kBaseWithWindow;
  if (const auto given = config.given("rope_parameters")) {
    const InputObject rope = given->object().object(kKindWithWindow);
    for (const std::string& key : rope.keys()) {
      const auto value = Config::given(rope, key);
      if (key == "rope_type" && value && !value->is("default")) {
        value->fail("\"default\": there is no key for scaled angles of blocks with the window");
      }
      if (key != "rope_type" && key != "rope_theta" && value) {
        value->fail("no such key beside rope_type = \"default\"");
      }
    }
    base = rope.number("rope_theta", 1, kLargestBase, "a number of at least 1");
  }
  if (base != model.rotary_base) set_declared(model, "window_rotary_base", base);
  if (rotary_angles(model).scaling != AngleScaling::none) {
    set_declared(model, "window_rotary_scaling", false);
  }
}

void write_angles_by_kind(const Model& model, const PublishedClass&, Json& config) {
  Json full = config["rope_scaling"].is_null() ? Json{{"rope_type", "default"}}
                                               : Json(config["rope_scaling"]);
  full["rope_theta"] = model.rotary_base;
  double base = model.rotary_base;
  for (int block = 0; block < model.blocks; ++block) {
    if (attention_window(model, block) > 0) base = rotary_base(model, block);
  }
  config.erase("rope_scaling");
  config.erase("rope_theta");
  config["rope_parameters"] = {{kKindOfLayer, full},
                               {kKindWithWindow, {{"rope_type", "default"}, {"rope_theta", base}}}};
}

}  // namespace

const ConfigPart parts::angles_by_kind{read_angles_by_kind, write_angles_by_kind};

}  // namespace moe
