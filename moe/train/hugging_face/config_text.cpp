#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "moe/model/attention_biases.h"
#include "moe/train/hugging_face/config.h"

namespace moe {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::string config_text(const Model& model, Family family) {
  Json config{{"architectures", {architecture_of(family)}},
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

}  // namespace moe
