#include "moe/model/published/other_keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace moe {
namespace {

/// Keys that change no forward pass: of the training, of the texts that a model writes, of files
/// and of the library. Of layers that predict further tokens transformers loads none.
constexpr std::array<std::string_view, 93> kKeysOfOtherThings{"_attn_implementation",
                                                              "_attn_implementation_autoset",
                                                              "_commit_hash",
                                                              "_from_model_config",
                                                              "_name_or_path",
                                                              "attention_dropout",
                                                              "attention_probs_dropout_prob",
                                                              "attn_implementation",
                                                              "aux_loss_alpha",
                                                              "bad_words_ids",
                                                              "begin_suppress_tokens",
                                                              "bos_token_id",
                                                              "chunk_size_feed_forward",
                                                              "cross_attention_hidden_size",
                                                              "decoder_start_token_id",
                                                              "diversity_penalty",
                                                              "do_sample",
                                                              "dtype",
                                                              "early_stopping",
                                                              "embd_pdrop",
                                                              "encoder_no_repeat_ngram_size",
                                                              "eod_token_id",
                                                              "eos_token_id",
                                                              "ep_size",
                                                              "expert_dropout",
                                                              "experts_implementation",
                                                              "exponential_decay_length_penalty",
                                                              "finetuning_task",
                                                              "forced_bos_token_id",
                                                              "forced_eos_token_id",
                                                              "hidden_dropout",
                                                              "hidden_dropout_prob",
                                                              "id2label",
                                                              "initial_context_length",
                                                              "initializer_range",
                                                              "input_jitter_noise",
                                                              "label2id",
                                                              "length_penalty",
                                                              "max_length",
                                                              "max_new_tokens",
                                                              "max_window_layers",
                                                              "min_length",
                                                              "min_new_tokens",
                                                              "model_max_length",
                                                              "moe_aux_loss_coef",
                                                              "moe_loss_weight",
                                                              "moe_router_aux_loss_coef",
                                                              "mtp_num_hidden_layers",
                                                              "no_repeat_ngram_size",
                                                              "num_beam_groups",
                                                              "num_beams",
                                                              "num_mtp_layers",
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
                                                              "pruned_heads",
                                                              "remove_invalid_values",
                                                              "repetition_penalty",
                                                              "resid_pdrop",
                                                              "return_dict",
                                                              "return_dict_in_generate",
                                                              "router_aux_loss_coef",
                                                              "router_bias_update_rate",
                                                              "router_jitter_noise",
                                                              "router_z_loss_coef",
                                                              "sep_token_id",
                                                              "seq_aux",
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
                                                              "use_cache",
                                                              "use_return_dict",
                                                              "z_loss_coef"};

static_assert(std::ranges::is_sorted(kKeysOfOtherThings));

/// Switches of other classes, which are off.
constexpr std::array<std::string_view, 11> kSwitches{
    "add_cross_attention", "attention_bias", "is_decoder", "is_encoder_decoder", "mlp_bias",
    "moe_use_hidden",      "qk_layernorm",   "use_bias",   "use_qk_norm",        "use_cla",
    "use_sliding_window"};

}  // namespace

std::vector<std::string> keys_left_aside(const Config& config, const PublishedClass& of) {
  std::vector<std::string> left;
  for (const std::string& key : config.unread()) {
    const InputValue value = config.root().member(key);
    if (std::ranges::find(kSwitches, key) != kSwitches.end() && !value.boolean()) continue;
    if (of.windows == Windows::none && key == "sliding_window") {
      value.fail(fmt::format("null: {} has no windows", of.name));
    }
    if (!std::ranges::binary_search(kKeysOfOtherThings, std::string_view(key))) {
      value.fail("no such key: nothing here reads it, and it may change what is computed");
    }
    left.push_back(key);
  }
  return left;
}

std::vector<std::string> remarks_on(const Config& config) {
  std::vector<std::string> remarks;
  if (config.given("auto_map")) {
    remarks.emplace_back(
        "auto_map names code of the model's own, which may compute anything: the class of "
        "transformers is taken");
  }
  if (config.given("quantization_config")) {
    remarks.emplace_back(
        "quantization_config is left aside: parameters are of the precision of the training");
  }
  return remarks;
}

}  // namespace moe
