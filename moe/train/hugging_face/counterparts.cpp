#include "moe/train/hugging_face/counterparts.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "moe/model/attention_biases.h"

namespace moe {
namespace {

/// The names of a network's matrices: gate, up, down.
using NetworkNames = std::array<std::string_view, 3>;
constexpr NetworkNames kMixtralNames{"w1", "w3", "w2"},
    kQwenNames{"gate_proj", "up_proj", "down_proj"};

class List {
 public:
  List(const Model& model, Family family) : model_(model), family_(family) {}

  Counterparts made() && {
    const std::int64_t width = model_.d_model, vocabulary = model_.vocabulary;
    add({"model.embed_tokens.weight", {vocabulary, width}, "token_table"});
    for (int block = 0; block < model_.blocks; ++block) add_block(block);
    add({"model.norm.weight", {width}, "final_norm.scale"});
    if (model_.head == Head::untied) {
      add({"lm_head.weight", {vocabulary, width}, "head.weight", true});
    }
    return std::move(list_);
  }

 private:
  void add(Counterpart one) { list_.tensors.push_back(std::move(one)); }

  void add_block(int block) {
    const std::string theirs = fmt::format("model.layers.{}.", block),
                      ours = fmt::format("block{}.", block);
    const std::int64_t width = model_.d_model;
    add({theirs + "input_layernorm.weight", {width}, ours + "norm1.scale"});
    add_attention(theirs + "self_attn.", ours + "attention.");
    add({theirs + "post_attention_layernorm.weight", {width}, ours + "norm2.scale"});
    const bool mixtral = family_ == Family::mixtral;
    if (has_experts(model_, block)) {
      add_experts(theirs + (mixtral ? "block_sparse_moe." : "mlp."), ours);
    } else {
      add_network(theirs + "mlp.", ours + "ffn.", "", model_.d_hidden, kQwenNames);
    }
  }

  void add_attention(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, of_head = head_width(model_),
                       query_width = of_head * model_.heads,
                       key_width = of_head * key_value_heads(model_);
    const AttentionBiases biases = attention_biases(model_);
    std::int64_t first = 0;
    const auto add_part = [&](const std::string& name, std::int64_t columns) {
      add({theirs + name + ".weight", {columns, width}, ours + "qkv.weight", true, first});
      if (biases.qkv) {
        add({theirs + name + ".bias", {columns}, ours + "qkv.bias", false, first});
      }
      first += columns;
    };
    add_part("q_proj", query_width);
    add_part("k_proj", key_width);
    add_part("v_proj", key_width);
    add({theirs + "o_proj.weight", {width, query_width}, ours + "output.weight", true});
    if (biases.output) list_.zeros.push_back(ours + "output.bias");
  }

  /// `suffix`: after the names of ours, the number of an expert.
  void add_network(const std::string& theirs, const std::string& ours, const std::string& suffix,
                   std::int64_t hidden, const NetworkNames& names, double factor = 1) {
    const std::int64_t width = model_.d_model;
    const auto their_name = [&](std::size_t i) {
      return fmt::format("{}{}.weight", theirs, names[i]);
    };
    add({their_name(0), {hidden, width}, ours + "gate.weight" + suffix, true});
    add({their_name(1), {hidden, width}, ours + "up.weight" + suffix, true});
    add({their_name(2), {width, hidden}, ours + "down.weight" + suffix, true, 0, factor});
  }

  void add_experts(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, hidden = expert_hidden(model_);
    add({theirs + "gate.weight", {model_.experts, width}, ours + "gate.weight", true});
    for (int expert = 0; expert < model_.experts; ++expert) {
      add_network(fmt::format("{}experts.{}.", theirs, expert), ours + "experts.",
                  fmt::format(".{}", expert), hidden,
                  family_ == Family::mixtral ? kMixtralNames : kQwenNames);
    }
    switch (family_) {
      case Family::mixtral:
        return;
      case Family::qwen2_moe:
        add_shared_experts(theirs + "shared_expert.", ours, 2);
        add({theirs + "shared_expert_gate.weight", {1, width}, ""});
        return;
      case Family::glm4_moe:
        add_shared_experts(theirs + "shared_experts.", ours, 1);
        add({theirs + "gate.e_score_correction_bias", {model_.experts}, ours + "gate.expert_bias"});
    }
  }

  void add_shared_experts(const std::string& theirs, const std::string& ours, double factor) {
    const std::int64_t width = model_.d_model;
    if (model_.shared_experts > 0) {
      add_network(theirs, ours + "shared.", "", model_.shared_experts * expert_hidden(model_),
                  kQwenNames, factor);
      return;
    }
    for (std::size_t i = 0; i < kQwenNames.size(); ++i) {
      const bool down = i + 1 == kQwenNames.size();
      add({fmt::format("{}{}.weight", theirs, kQwenNames[i]),
           {down ? width : 0, down ? 0 : width},
           ""});
    }
  }

  const Model& model_;
  Family family_;
  Counterparts list_;
};

}  // namespace

Counterparts counterparts(const Model& model, Family family) { return List(model, family).made(); }

}  // namespace moe
