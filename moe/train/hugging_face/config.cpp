#include "moe/train/hugging_face/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
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

/// A config.json that is read.
class Config {
 public:
  explicit Config(const InputDocument& document) : root_(document.object()) {}

  std::int64_t integer(std::string_view key, std::int64_t most, std::int64_t least = 1) const {
    read_.emplace(key);
    return root_.integer(key, least, most);
  }
  InputValue member(std::string_view key) const {
    read_.emplace(key);
    return root_.member(key);
  }
  /// The value of a key; none where it is missing or null.
  std::optional<InputValue> given(std::string_view key) const {
    read_.emplace(key);
    return given(root_, key);
  }
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
  /// The keys with a value that nobody has asked for.
  std::vector<std::string> unread() const {
    std::vector<std::string> keys;
    for (const std::string& key : root_.keys()) {
      if (!read_.contains(key) && !root_.member(key).is_null()) keys.push_back(key);
    }
    return keys;
  }

 private:
  InputObject root_;
  mutable std::set<std::string, std::less<>> read_;
};

/// Keys that change no forward pass: of the training, of the texts that a model writes, of files
/// and of the library. Of layers that predict further tokens transformers loads none.
constexpr std::array<std::string_view, 66> kKeysOfOtherThings{"_attn_implementation",
                                                              "_attn_implementation_autoset",
                                                              "_name_or_path",
                                                              "attention_dropout",
                                                              "bad_words_ids",
                                                              "begin_suppress_tokens",
                                                              "bos_token_id",
                                                              "chunk_size_feed_forward",
                                                              "decoder_start_token_id",
                                                              "diversity_penalty",
                                                              "do_sample",
                                                              "dtype",
                                                              "early_stopping",
                                                              "embd_pdrop",
                                                              "encoder_no_repeat_ngram_size",
                                                              "eos_token_id",
                                                              "exponential_decay_length_penalty",
                                                              "finetuning_task",
                                                              "forced_bos_token_id",
                                                              "forced_eos_token_id",
                                                              "hidden_dropout",
                                                              "id2label",
                                                              "initializer_range",
                                                              "label2id",
                                                              "length_penalty",
                                                              "max_length",
                                                              "max_window_layers",
                                                              "min_length",
                                                              "no_repeat_ngram_size",
                                                              "num_beam_groups",
                                                              "num_beams",
                                                              "num_nextn_predict_layers",
                                                              "num_return_sequences",
                                                              "output_attentions",
                                                              "output_hidden_states",
                                                              "output_router_logits",
                                                              "output_scores",
                                                              "pad_token_id",
                                                              "prefix",
                                                              "pretraining_tp",
                                                              "problem_type",
                                                              "remove_invalid_values",
                                                              "repetition_penalty",
                                                              "resid_pdrop",
                                                              "return_dict",
                                                              "return_dict_in_generate",
                                                              "router_aux_loss_coef",
                                                              "router_jitter_noise",
                                                              "sep_token_id",
                                                              "suppress_tokens",
                                                              "task_specific_params",
                                                              "temperature",
                                                              "tf_legacy_loss",
                                                              "tie_encoder_decoder",
                                                              "tokenizer_class",
                                                              "top_k",
                                                              "top_p",
                                                              "torch_dtype",
                                                              "torchscript",
                                                              "transformers_version",
                                                              "typical_p",
                                                              "unk_token_id",
                                                              "unsloth_fixed",
                                                              "unsloth_version",
                                                              "use_bfloat16",
                                                              "use_cache"};

/// Switches of other classes, which are off.
constexpr std::array<std::string_view, 8> kSwitches{
    "add_cross_attention", "attention_bias", "is_decoder",        "is_encoder_decoder", "mlp_bias",
    "qk_layernorm",        "use_qk_norm",    "use_sliding_window"};

/// Throws for a key that nobody has read and that may change what is computed. Gives the others,
/// which are left aside.
std::vector<std::string> refuse_unread(const Config& config) {
  std::vector<std::string> left;
  for (const std::string& key : config.unread()) {
    const InputValue value = config.root().member(key);
    if (std::ranges::find(kSwitches, key) != kSwitches.end() && !value.boolean()) continue;
    if (!std::ranges::binary_search(kKeysOfOtherThings, std::string_view(key))) {
      value.fail("no such key: nothing here reads it, and it may change what is computed");
    }
    left.push_back(key);
  }
  return left;
}

/// Code of the model's own may compute anything.
void refuse_other_code(const Config& config, Family family) {
  const std::string_view expected = architecture_of(family);
  if (const auto names = config.given("architectures")) {
    for (const InputValue& name : names->list("a list of texts")) {
      if (!name.is(expected)) name.fail(fmt::format("\"{}\"", expected));
    }
  }
  if (const auto code = config.given("auto_map")) {
    code->fail("no such key: the class of transformers, and no code of the model's own");
  }
}

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
  constexpr std::array<std::string_view, 4> known{"partial_rotary_factor", "rope_theta",
                                                  "rope_type", "type"};
  for (const std::string& key : rope.keys()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto value = Config::given(rope, key);
    if (value) value->fail("no such key: angles of all layers alike, and not scaled");
  }
}

/// `rope_parameters`, as transformers 5 writes them; none where there are none. They may be of kinds
/// of layers, of which there is one here.
std::optional<InputObject> rope_parameters(const Config& config) {
  constexpr const char* kKind = "full_attention";
  const auto given = config.given("rope_parameters");
  if (!given) return std::nullopt;
  const InputObject all = given->object();
  if (!all.has(kKind)) return all;
  for (const std::string& kind : all.keys()) {
    const auto other = Config::given(all, kind);
    if (kind != kKind && other) other->fail("no such key: \"full_attention\" is of all layers");
  }
  return all.object(kKind);
}

/// The base of the angles: a key of its own, or in `rope_parameters`.
double rotary_base(const Config& config, double fallback) {
  const auto read = [](const InputValue& value) {
    return value.number(1, 1e30, "a number of at least 1");
  };
  if (const auto scaling = config.given("rope_scaling")) refuse_scaled_angles(scaling->object());
  const auto outer = config.given("rope_theta");
  std::optional<InputValue> inner;
  if (const auto rope = rope_parameters(config)) {
    refuse_scaled_angles(*rope);
    inner = Config::given(*rope, "rope_theta");
  }
  if (inner && outer && read(*inner) != read(*outer)) {
    inner->fail(fmt::format("rope_theta = {:g}, as it is outside", read(*outer)));
  }
  if (inner) return read(*inner);
  return outer ? read(*outer) : fallback;
}

/// Only whole heads are turned here; GLM-4-MoE turns half of each where its file says nothing.
void refuse_turned_parts(const Config& config, Family family) {
  auto share = config.given("partial_rotary_factor");
  if (const auto rope = rope_parameters(config)) {
    const auto inner = Config::given(*rope, "partial_rotary_factor");
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
  const bool has_window = config.flag("use_sliding_window", true);
  if (window && has_window && window->integer(1) < model.sequence_length) {
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
  const std::int64_t shared = config.integer("shared_expert_intermediate_size", kMostWidth, 0);
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
  model.shared_experts = static_cast<int>(config.integer("n_shared_experts", kMostWidth, 0));
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

ConfiguredModel read_config(const std::filesystem::path& folder, Model base) {
  const std::string file = (folder / kConfigFile).string();
  const InputDocument document = parse_json(read_file(file), file, JsonNumbers::python);
  const Config config(document);
  ConfiguredModel read{std::move(base), family_of(config.member("model_type")), {}};
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
  refuse_other_code(config, read.family);
  read.left_aside = refuse_unread(config);
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
