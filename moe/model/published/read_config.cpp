#include "moe/model/published/read_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/model/model_key.h"
#include "moe/model/published/other_keys.h"
#include "moe/model/published/parts.h"
#include "moe/model/read_key.h"

namespace moe {
namespace {

/// What all classes have, where none of their own keys says otherwise.
constexpr std::array kFixedOfAll{FixedKey{"norm", "rms_norm"}, FixedKey{"positions", "rotary"},
                                 FixedKey{"expert", "mixtral"}, FixedKey{"biases", false},
                                 FixedKey{"moe_every", 1}};
constexpr std::array kExpectedOfAll{
    ExpectedKey{"hidden_act", "silu", "experts of another activation"}};

constexpr std::int64_t kLongestSequence = 4096;

/// A training that nobody has chosen.
Model default_training(const Config& config, std::int64_t positions) {
  Model model;
  model.sequence_length = std::min(kLongestSequence, positions);
  model.global_batch = 64;
  model.optimizer = Optimizer::adamw;
  model.learning_rate = 3e-4;
  model.beta2 = 0.95;
  model.clip_norm = 1;
  model.dtype = DType::bf16;
  for (const char* key : {"torch_dtype", "dtype"}) {
    const auto type = config.given(key);
    if (type && type->is("float32")) model.dtype = DType::f32;
  }
  return model;
}

/// A key that config.json says nothing about.
bool is_of_training(const ModelKey& key, const Model& base) {
  return key.table == "training" || key.name == "sequence_length" || key.name == "name" ||
         kind_of(key, base) == KeyKind::training;
}

void take_training(const Model& base, Model& model) {
  const std::vector<const ModelKey*> of_base = keys_of(base);
  for (const ModelKey* key : keys_of(model)) {
    if (!is_of_training(*key, base) || std::ranges::find(of_base, key) == of_base.end()) continue;
    const KeyValue value = key->get(*key, base);
    const bool has_use = std::ranges::all_of(key->conditions, [&](const KeyCondition& condition) {
      return condition.refusal(model, value).empty();
    });
    if (has_use) key->set(*key, model, value);
  }
}

/// The value of a key by either of its names.
std::optional<InputValue> value_of(const Config& config, const ConfigKey& key) {
  auto value = config.given(key.theirs);
  if (key.alias.empty()) return value;
  auto other = config.given(key.alias);
  if (!value) return other;
  constexpr std::string_view kNumber = "a number";
  if (other && other->number(-1e30, 1e30, kNumber) != value->number(-1e30, 1e30, kNumber)) {
    other->fail(fmt::format("the value of {}", key.theirs));
  }
  return value;
}

/// Whether the library takes None for the key: the default here.
bool may_be_none(const ConfigKey& key) {
  constexpr std::array kOfAll{"head_width", "key_value_heads", "shared_experts"};
  return std::holds_alternative<std::monostate>(key.fallback) ||
         std::ranges::find(kOfAll, key.ours) != kOfAll.end();
}

void read_one(const Config& config, const ConfigKey& key, Model& model,
              std::vector<std::string>& assumed) {
  const ModelKey& ours = key_named(model, key.ours);
  if (const auto value = value_of(config, key)) {
    if (key.words.front().empty()) {
      ours.set(ours, model, read_value(ours, *value));
    } else {
      set_declared(model, key.ours, key.words[value->boolean() ? 1 : 0]);
    }
    return;
  }
  const bool is_required = ours.presence != Presence::optional;
  if (config.is_null(key.theirs)) {
    if (is_required || !may_be_none(key)) {
      config.root()
          .member(key.theirs)
          .fail(range_text(key.words.front().empty() ? ours.range : KeyRange(TrueOrFalse{})));
    }
    return;
  }
  Declared fallback = key.fallback;
  if (!key.words.front().empty()) fallback = key.words[std::get<bool>(key.fallback) ? 1 : 0];
  if (std::holds_alternative<std::monostate>(fallback)) {
    if (is_required) config.root().refuse(key.theirs, "is missing");
    return;
  }
  set_declared(model, key.ours, fallback);
  assumed.push_back(fmt::format("{} = {}", key.theirs, value_text(ours.get(ours, model))));
}

bool is_equal(const InputValue& value, const KeyValue& expected) {
  if (const auto* flag = std::get_if<bool>(&expected)) return value.boolean() == *flag;
  if (const auto* text = std::get_if<std::string>(&expected)) return value.is(*text);
  const auto* whole = std::get_if<std::int64_t>(&expected);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(expected);
  return value.number(-1e30, 1e30, "a number") == number;
}

void expect_values(const Config& config, std::span<const ExpectedKey> all) {
  for (const ExpectedKey& key : all) {
    const auto value = config.given(key.theirs);
    const std::optional<KeyValue> expected = key_value(key.value);
    if (!value || (expected && is_equal(*value, *expected))) continue;
    value->fail(fmt::format("{}: there is no key for {}", expected ? value_text(*expected) : "null",
                            key.needed));
  }
}

/// Models of images and text have that of text as an object of its own.
void expect_text_model(const Config& config, const InputValue& type) {
  const auto text = Config::given(config.root(), "text_config");
  if (!text || std::ranges::any_of(names_of_classes(), [&](auto one) { return type.is(one); })) {
    return;
  }
  const auto inner = Config::given(text->object(), "model_type");
  type.refuse(
      fmt::format("\"{}\" has its model of text in text_config{}: expected that object as "
                  "a file of its own",
                  type.text(), inner ? fmt::format(" (\"{}\")", inner->text()) : ""));
}

/// Layers that predict further tokens, which come after the others in files of tensors.
std::int64_t further_layers(const Config& config) {
  for (const char* key : {"num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers"}) {
    const auto layers = Config::given(config.root(), key);
    if (layers && layers->integer(0) > 0) return layers->integer(0);
  }
  return 0;
}

/// The model as its file would say it. A refusal names the key of config.json where there is one.
Model checked(const Model& meant, const std::string& name, const Config& config,
              const PublishedClass& of) {
  const auto refuse_theirs = [&](std::string_view ours, std::string_view why) {
    for (const ConfigKey& one : of.keys) {
      if (one.ours == ours) config.root().refuse(one.theirs, why);
    }
  };
  if (meant.dense_blocks >= meant.blocks) {
    refuse_theirs("dense_blocks", fmt::format("expected at most num_hidden_layers - 1 = {}, got {}",
                                              meant.blocks - 1, meant.dense_blocks));
  }
  std::optional<Model> model;
  try {
    model = load_model(meant, name, {});
  } catch (const InputError& error) {
    const std::string_view what = error.what();
    for (const ModelKey* key : keys_of(meant)) {
      const std::string before = fmt::format("{}: {}.{}: ", name, key->table, key->name);
      if (what.starts_with(before)) refuse_theirs(key->name, what.substr(before.size()));
    }
    throw;
  }
  for (const ModelKey* key : keys_of(meant)) {
    const KeyValue value = key->get(*key, meant);
    // What nothing has set may be another where it has no use.
    if (!meant.own.contains(key->name) || value == key->get(*key, *model)) continue;
    for (const KeyCondition& condition : key->conditions) {
      const std::string why = condition.refusal(meant, value);
      if (why.empty()) continue;
      refuse_theirs(key->name, why);
      throw InputError(fmt::format("{}: {} = {}: {}", name, key->name, value_text(value), why));
    }
  }
  return *model;
}

/// Heads of another kind than the class's compute something else.
void expect_architecture(const Config& config, const PublishedClass& of) {
  const auto names = config.given("architectures");
  if (!names) return;
  for (const InputValue& name : names->list("a list of texts")) {
    if (!name.is(of.architecture)) name.fail(fmt::format("\"{}\"", of.architecture));
  }
}

std::string name_of_file(const std::filesystem::path& file) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(file, ignored);
  const bool is_plain = whole.filename() == kConfigFile && whole.has_parent_path();
  return (is_plain ? whole.parent_path().filename() : whole.stem()).string();
}

}  // namespace

bool is_config(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".json" ||
         std::filesystem::is_regular_file(path / kConfigFile, ignored);
}

ConfiguredModel read_config_text(std::string_view text, const std::string& name,
                                 const std::optional<Model>& base) {
  const InputDocument document = parse_json(text, name, JsonNumbers::python);
  const Config config(document);
  const auto type = config.given("model_type");
  if (!type) config.root().refuse("model_type", "is missing");
  expect_text_model(config, *type);
  const PublishedClass& of = class_named(*type);
  ConfiguredModel configured{{}, &of};
  Model& model = configured.model;
  for (const FixedKey& key : kFixedOfAll) set_declared(model, key.ours, key.value);
  for (const FixedKey& key : of.fixed) set_declared(model, key.ours, key.value);
  std::vector<std::string> assumed;
  for (const ConfigKey& key : of.keys) read_one(config, key, model, assumed);
  if (model.blocks > 0) {
    parts::angles.read(config, of, model);
    parts::windows.read(config, of, model);
  }
  for (const ConfigPart& part : of.parts) part.read(config, of, model);
  expect_values(config, kExpectedOfAll);
  expect_values(config, of.expected);
  expect_architecture(config, of);

  configured.turns_halves = of.says_interleave && !config.flag("rope_interleave", true);

  const std::int64_t positions = config.integer("max_position_embeddings", of.positions, 1);
  take_training(base ? *base : default_training(config, positions), model);
  if (positions < model.sequence_length) {
    config.root().refuse("max_position_embeddings",
                         fmt::format("expected at least sequence_length = {}, got {}",
                                     model.sequence_length, positions));
  }
  configured.remarks = remarks_on(config);
  configured.left_aside = keys_left_aside(config, of);
  configured.read = config.read();
  configured.further_layers = further_layers(config);
  model = checked(model, name, config, of);
  if (!assumed.empty()) {
    configured.remarks.push_back(
        fmt::format("not in the file, and as the class has them: {}", fmt::join(assumed, ", ")));
  }
  if (base && base->capacity_factor) {
    configured.remarks.push_back(
        fmt::format("capacity_factor = {:g} of --model is \"dropless\" here, as transformers "
                    "computes: --set moe.capacity_factor={:g} keeps it",
                    *base->capacity_factor, *base->capacity_factor));
  }
  return configured;
}

ConfiguredModel read_config(const std::filesystem::path& path, const std::optional<Model>& base) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = is_folder ? path / kConfigFile : path;
  ConfiguredModel configured = read_config_text(read_file(file), file.string(), base);
  configured.model.name = name_of_file(file);
  return configured;
}

std::vector<std::string> said_of(const ConfiguredModel& configured) {
  std::vector<std::string> said{
      fmt::format("{}: read: {}", kConfigFile, fmt::join(configured.read, ", "))};
  if (!configured.left_aside.empty()) {
    said.push_back(fmt::format("{}: change nothing of what is computed, and are left aside: {}",
                               kConfigFile, fmt::join(configured.left_aside, ", ")));
  }
  for (const std::string& remark : configured.remarks) {
    said.push_back(fmt::format("{}: {}", kConfigFile, remark));
  }
  return said;
}

std::string training_text(const Model& model) {
  std::vector<std::string> keys;
  for (const char* name : {"sequence_length", "global_batch", "micro_batches", "precision",
                           "optimizer", "learning_rate"}) {
    const ModelKey& key = key_named(model, name);
    keys.push_back(fmt::format("{} = {}", name, value_text(key.get(key, model))));
  }
  return fmt::format("{}", fmt::join(keys, ", "));
}

std::string assumed_training(const std::filesystem::path& path, const Model& model) {
  if (!is_config(path)) return "";
  std::vector<std::string> said = read_config(path).remarks;
  said.insert(said.begin(),
              fmt::format("says nothing of a training, which is {}; --set gives other values",
                          training_text(model)));
  return fmt::format("{}: {}", path.string(), fmt::join(said, "; "));
}

}  // namespace moe
