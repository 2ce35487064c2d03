#include "moe/train/hugging_face/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/json.h"
#include "moe/input/read_file.h"
#include "moe/model/attention_biases.h"
#include "moe/model/limits.h"

namespace moe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kFamilyNames.size()> kArchitectures{
    "MixtralForCausalLM", "Qwen2MoeForCausalLM", "Glm4MoeForCausalLM"};

std::string_view torch_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::bf16:
      return "bfloat16";
    case DType::i32:
    case DType::remainder:
      break;
  }
  throw std::logic_error("config: parameters of integers");
}

void add_keys_of_mixtral(Json& config, const Model& model) {
  config["intermediate_size"] = expert_hidden(model);
  config["num_local_experts"] = model.experts;
  config["sliding_window"] = nullptr;
}

void add_keys_of_qwen2_moe(Json& config, const Model& model) {
  Json dense = Json::array();
  for (int block = 0; block < model.blocks; ++block) {
    if (!has_experts(model, block)) dense.push_back(block);
  }
  config["intermediate_size"] = model.d_hidden;
  config["moe_intermediate_size"] = expert_hidden(model);
  config["shared_expert_intermediate_size"] = model.shared_experts * expert_hidden(model);
  config["num_experts"] = model.experts;
  config["norm_topk_prob"] = model.choices > 1;
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = std::move(dense);
  config["qkv_bias"] = attention_biases(model).qkv;
  config["use_sliding_window"] = false;
}

/// As transformers 5 reads the angles, and as 4 does.
void add_keys_of_glm4_moe(Json& config, const Model& model) {
  config["rope_parameters"] = {
      {"rope_type", "default"}, {"rope_theta", model.rotary_base}, {"partial_rotary_factor", 1.0}};
  config["partial_rotary_factor"] = 1.0;
  config["head_dim"] = model.d_model / model.heads;
  config["attention_bias"] = attention_biases(model).qkv;
  config["use_qk_norm"] = false;
  config["intermediate_size"] = model.d_hidden;
  config["moe_intermediate_size"] = expert_hidden(model);
  config["n_routed_experts"] = model.experts;
  config["n_shared_experts"] = model.shared_experts;
  config["first_k_dense_replace"] = model.dense_blocks;
  config["norm_topk_prob"] = model.choices > 1;
  config["routed_scaling_factor"] = 1.0;
  config["n_group"] = 1;
  config["topk_group"] = 1;
  config["num_nextn_predict_layers"] = 0;
}

/// A config.json that is read.
class Config {
 public:
  explicit Config(const InputDocument& document) : root_(document.object()) {}

  std::int64_t integer(std::string_view key, std::int64_t most) const {
    return root_.integer(key, 1, most);
  }
  /// The value of a key; none where it is missing or null.
  std::optional<InputValue> given(std::string_view key) const { return given(root_, key); }
  static std::optional<InputValue> given(const InputObject& object, std::string_view key) {
    auto value = object.optional_member(key);
    return value && !value->is_null() ? value : std::nullopt;
  }
  bool flag(std::string_view key, bool fallback) const {
    const auto value = given(key);
    return value ? value->boolean() : fallback;
  }
  double number(std::string_view key, double fallback) const {
    const auto value = given(key);
    return value ? value->number(1e-30, 1e30, "a number above 0") : fallback;
  }
  const InputObject& root() const { return root_; }

 private:
  InputObject root_;
};

/// A class of MoE models that has no counterpart here, and the reason.
struct OtherClass {
  std::string_view name, reason;
};
constexpr std::array kOtherClasses{
    OtherClass{"qwen3_moe", "norms of queries and keys"},
    OtherClass{"olmoe", "norms of queries and keys"}, OtherClass{"deepseek_v2", "latent attention"},
    OtherClass{"deepseek_v3", "latent attention and groups of experts"}};

Family family_of(const InputValue& type) {
  for (const OtherClass& other : kOtherClasses) {
    if (!type.is(other.name)) continue;
    type.refuse(
        fmt::format("\"{}\" has {}, for which there is no counterpart here: expected "
                    "\"{}\"",
                    other.name, other.reason, fmt::join(kFamilyNames, "\" or \"")));
  }
  const std::vector<std::string_view> names{kFamilyNames.begin(), kFamilyNames.end()};
  return static_cast<Family>(type.one_of(names));
}

void refuse_scaled_angles(const InputObject& rope) {
  for (const char* key : {"rope_type", "type"}) {
    const auto type = Config::given(rope, key);
    if (type && !type->is("default")) type->fail("\"default\": angles that are not scaled");
  }
}

/// The base of the angles: a key of its own, or in `rope_parameters` as transformers 5 writes it.
double rotary_base(const Config& config, double fallback) {
  if (const auto scaling = config.given("rope_scaling")) refuse_scaled_angles(scaling->object());
  if (const auto parameters = config.given("rope_parameters")) {
    const InputObject rope = parameters->object();
    refuse_scaled_angles(rope);
    if (const auto base = Config::given(rope, "rope_theta")) {
      return base->number(1, 1e30, "a number of at least 1");
    }
  }
  const auto base = config.given("rope_theta");
  return base ? base->number(1, 1e30, "a number of at least 1") : fallback;
}

/// Only whole heads are turned here; GLM-4-MoE turns half of each where its file says nothing.
void refuse_turned_parts(const Config& config, Family family) {
  auto share = config.given("partial_rotary_factor");
  if (const auto parameters = config.given("rope_parameters")) {
    const auto inner = Config::given(parameters->object(), "partial_rotary_factor");
    if (inner) share = inner;
  }
  if (share && share->number(0, 1, "1") != 1) share->fail("1");
  if (!share && family == Family::glm4_moe) {
    config.root().refuse("partial_rotary_factor", "expected 1: queries and keys are turned whole");
  }
}

/// Keys that change what is computed, where they have other values than these.
void refuse_without_counterpart(const Config& config, const Model& model, Family family) {
  const auto activation = config.given("hidden_act");
  if (activation && !activation->is("silu")) activation->fail("\"silu\"");
  if (const auto width = config.given("head_dim")) {
    if (width->integer(1) * model.heads != model.d_model) {
      width->fail(
          fmt::format("hidden_size / num_attention_heads = {}", model.d_model / model.heads));
    }
  }
  const auto window = config.given("sliding_window");
  if (window && config.flag("use_sliding_window", true) &&
      window->integer(1) < model.sequence_length) {
    window->fail(fmt::format("null, or at least sequence_length = {}", model.sequence_length));
  }
  if (const auto types = config.given("layer_types")) {
    for (const InputValue& type : types->list("a list of texts")) {
      if (!type.is("full_attention")) type.fail("\"full_attention\"");
    }
  }
  refuse_turned_parts(config, family);
  if (const auto quantized = config.given("quantization_config")) {
    quantized->fail("no such key: parameters in f32, bf16 or f16");
  }
  const auto positions = config.given("max_position_embeddings");
  if (positions && positions->integer(1) < model.sequence_length) {
    positions->fail(fmt::format("at least sequence_length = {}", model.sequence_length));
  }
}

/// Divides the blocks as `dense` says. Throws where no dense_blocks and moe_every do.
void set_dense_blocks(Model& model, const std::vector<bool>& dense, const Config& config) {
  for (model.dense_blocks = 0; model.dense_blocks < model.blocks; ++model.dense_blocks) {
    const int others = model.blocks - model.dense_blocks;
    for (model.moe_every = 1; model.moe_every <= others; ++model.moe_every) {
      bool is_alike = true;
      for (int block = 0; block < model.blocks && is_alike; ++block) {
        is_alike = has_experts(model, block) != dense[static_cast<std::size_t>(block)];
      }
      if (is_alike) return;
    }
  }
  config.root().refuse("mlp_only_layers",
                       "expected some first layers, and of the others all but every n-th");
}

/// No class has other biases than those of queries, keys and values.
void set_attention_biases(Model& model, bool qkv) {
  model.biases = false;
  model.own["attention_biases"] = std::string(qkv ? "qkv" : "none");
}

void read_mixtral(const Config& config, Model& model) {
  model.d_hidden = config.integer("intermediate_size", kMostWidth);
  model.d_expert.reset();
  model.experts = static_cast<int>(config.integer("num_local_experts", kMostExperts));
  model.dense_blocks = 0;
  model.moe_every = 1;
  model.shared_experts = 0;
  set_attention_biases(model, false);
  if (model.choices == 1) {
    config.root()
        .member("num_experts_per_tok")
        .fail("2 or more: the weight of an only expert is 1 there, and its probability here");
  }
}

/// `fallback`: what norm_topk_prob is where the file has none.
void refuse_other_weights(const Config& config, const Model& model, bool fallback,
                          std::string_view scores) {
  const bool shares = model.choices > 1;
  if (config.flag("norm_topk_prob", fallback) == shares) return;
  config.root().refuse(
      "norm_topk_prob",
      fmt::format("expected {}: with num_experts_per_tok = {} weights are {} here", shares,
                  model.choices, shares ? "divided by their sum" : scores));
}

void read_qwen2_moe(const Config& config, Model& model) {
  model.d_hidden = config.integer("intermediate_size", kMostWidth);
  model.d_expert = config.integer("moe_intermediate_size", kMostWidth);
  model.experts = static_cast<int>(config.integer("num_experts", kMostExperts));
  set_attention_biases(model, config.flag("qkv_bias", true));
  refuse_other_weights(config, model, false, "probabilities");
  const std::int64_t shared =
      config.root().integer("shared_expert_intermediate_size", 0, kMostWidth);
  if (shared % *model.d_expert != 0) {
    config.root()
        .member("shared_expert_intermediate_size")
        .fail(fmt::format("a multiple of moe_intermediate_size = {}", *model.d_expert));
  }
  model.shared_experts = static_cast<int>(shared / *model.d_expert);
  const auto step = config.given("decoder_sparse_step");
  const std::int64_t every = step ? step->integer(1) : 1;
  std::vector<bool> dense(static_cast<std::size_t>(model.blocks));
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i] = (static_cast<std::int64_t>(i) + 1) % every != 0;
  }
  if (const auto only = config.given("mlp_only_layers")) {
    for (const std::int64_t block : only->integers(0, model.blocks - 1)) {
      dense[static_cast<std::size_t>(block)] = true;
    }
  }
  set_dense_blocks(model, dense, config);
}

/// Keys of the router of DeepSeek-V3 that have one value here.
void refuse_other_routers(const Config& config) {
  if (config.flag("use_qk_norm", false)) {
    config.root().member("use_qk_norm").fail("false: queries and keys have no norms here");
  }
  if (config.number("routed_scaling_factor", 1) != 1) {
    config.root().member("routed_scaling_factor").fail("1");
  }
  const auto groups = config.given("n_group"), best = config.given("topk_group");
  const std::int64_t all = groups ? groups->integer(1) : 1;
  if ((best ? best->integer(1) : 1) != all) {
    config.root().refuse("topk_group",
                         fmt::format("expected n_group = {}: no groups of experts are left out "
                                     "here",
                                     all));
  }
}

void read_glm4_moe(const Config& config, Model& model) {
  model.gate = "bias_adjusted";
  model.auxiliary_weight = 0;
  model.d_hidden = config.integer("intermediate_size", kMostWidth);
  model.d_expert = config.integer("moe_intermediate_size", kMostWidth);
  model.experts = static_cast<int>(config.integer("n_routed_experts", kMostExperts));
  model.shared_experts = static_cast<int>(config.root().integer("n_shared_experts", 0, kMostWidth));
  set_attention_biases(model, config.flag("attention_bias", false));
  const auto dense = config.given("first_k_dense_replace");
  model.dense_blocks = dense ? static_cast<int>(dense->integer(0, model.blocks - 1)) : 1;
  model.moe_every = 1;
  refuse_other_weights(config, model, true, "scores");
  refuse_other_routers(config);
}

void read_sizes(const Config& config, Model& model, Family family) {
  model.vocabulary = config.integer("vocab_size", kMostWidth);
  model.d_model = config.integer("hidden_size", kMostWidth);
  model.blocks = static_cast<int>(config.integer("num_hidden_layers", kMostBlocks));
  model.heads = static_cast<int>(config.integer("num_attention_heads", kMostWidth));
  model.key_value_heads.reset();
  if (const auto heads = config.given("num_key_value_heads")) {
    model.key_value_heads = static_cast<int>(heads->integer(1, kMostWidth));
  }
  model.choices = static_cast<int>(config.integer("num_experts_per_tok", kMostExperts));
  model.norm = Norm::rms_norm;
  model.positions = Positions::rotary;
  model.expert = "mixtral";
  // The values of the classes where the file has none.
  model.norm_epsilon = config.number("rms_norm_eps", family == Family::qwen2_moe ? 1e-6 : 1e-5);
  model.rotary_base = rotary_base(config, family == Family::mixtral ? 1e6 : 1e4);
  model.head = config.flag("tie_word_embeddings", false) ? Head::tied : Head::untied;
}

}  // namespace

std::string config_text(const Model& model, Family family) {
  Json config{{"architectures", {kArchitectures[static_cast<std::size_t>(family)]}},
              {"model_type", name_of(family)},
              {"vocab_size", model.vocabulary},
              {"hidden_size", model.d_model},
              {"num_hidden_layers", model.blocks},
              {"num_attention_heads", model.heads},
              {"num_key_value_heads", key_value_heads(model)},
              {"num_experts_per_tok", model.choices},
              {"hidden_act", "silu"},
              {"max_position_embeddings", model.sequence_length},
              {"rms_norm_eps", model.norm_epsilon},
              {"rope_theta", model.rotary_base},
              {"tie_word_embeddings", model.head == Head::tied},
              {"torch_dtype", torch_type(model.dtype)},
              {"bos_token_id", nullptr},
              {"eos_token_id", nullptr},
              {"pad_token_id", nullptr}};
  switch (family) {
    case Family::mixtral:
      add_keys_of_mixtral(config, model);
      break;
    case Family::qwen2_moe:
      add_keys_of_qwen2_moe(config, model);
      break;
    case Family::glm4_moe:
      add_keys_of_glm4_moe(config, model);
  }
  return config.dump(2) + "\n";
}

ConfiguredModel read_config(const std::filesystem::path& folder, Model base) {
  const std::string file = (folder / kConfigFile).string();
  const InputDocument document = parse_json(read_file(file), file);
  const Config config(document);
  ConfiguredModel read{std::move(base), family_of(config.root().member("model_type"))};
  Model& model = read.model;
  read_sizes(config, model, read.family);
  refuse_without_counterpart(config, model, read.family);
  switch (read.family) {
    case Family::mixtral:
      read_mixtral(config, model);
      break;
    case Family::qwen2_moe:
      read_qwen2_moe(config, model);
      break;
    case Family::glm4_moe:
      read_glm4_moe(config, model);
  }
  Model dropless = model;  // a capacity is the training's own
  dropless.capacity_factor.reset();
  if (const auto unmatched = unmatched_key(dropless, read.family)) {
    throw InputError(
        fmt::format("{}: is of class {}, which has no {}: expected {}; --set changes "
                    "keys of the model",
                    file, name_of(read.family), unmatched->key, unmatched->expected));
  }
  return read;
}

}  // namespace moe
