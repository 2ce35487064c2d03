#include "moe/train/hugging_face/counterparts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "moe/errors.h"
#include "moe/model/attention_biases.h"
#include "moe/model/attention_keys.h"
#include "moe/model/latent_keys.h"
#include "moe/model/published/tensor_names.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

using NetworkNames = std::array<std::string_view, 3>;  // gate, up, down
constexpr NetworkNames kUsualNames{"gate_proj", "up_proj", "down_proj"};

class List {
 public:
  List(const Model& model, const TensorNames& names, bool turns_halves)
      : model_(model), names_(names), turns_halves_(turns_halves) {}

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
    const auto norm_named = [&](std::size_t i) {
      return fmt::format("{}{}.weight", theirs, names_.norms[i]);
    };
    add({norm_named(0), {width}, ours + "norm1.scale"});
    add_attention(theirs + "self_attn.", ours + "attention.");
    add({norm_named(1), {width}, ours + "norm2.scale"});
    if (has_experts(model_, block)) {
      add_mixture(theirs + std::string(names_.mixture), ours);
    } else {
      add_network(theirs + "mlp.", ours + "ffn.", "", model_.d_hidden, kUsualNames);
    }
  }

  void add_attention(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, value_columns = value_width(model_) * model_.heads;
    if (latent_attention(model_).rank > 0) {
      add_latents(theirs, ours);
    } else {
      add_queries_keys_values(theirs, ours);
    }
    if (has_attention_sinks(model_)) {
      add({theirs + std::string(names_.sinks), {model_.heads}, ours + "sinks"});
    }
    add({theirs + "o_proj.weight", {width, value_columns}, ours + "output.weight", true});
    if (!attention_biases(model_).output) return;
    if (names_.output_bias) {
      add({theirs + "o_proj.bias", {width}, ours + "output.bias"});
    } else {
      list_.zeros.push_back(ours + "output.bias");
    }
  }

  void add_queries_keys_values(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, of_head = head_width(model_),
                       query_width = of_head * model_.heads,
                       key_width = of_head * key_value_heads(model_);
    std::int64_t first = 0;
    const auto add_part = [&](const std::string& name, std::int64_t columns, bool turns) {
      TheirPart part;
      if (turns && names_.neighbours_turn) {
        part = {.rows = columns,
                .columns = width,
                .row_order = turned_rows(columns / of_head, of_head, 0)};
      }
      add({.theirs = theirs + name + ".weight",
           .shape = {columns, width},
           .ours = ours + "qkv.weight",
           .transposed = true,
           .first_column = first,
           .part = part});
      if (attention_biases(model_).qkv) {
        add({theirs + name + ".bias", {columns}, ours + "qkv.bias", false, first});
      }
      first += columns;
    };
    add_part("q_proj", query_width, true);
    add_part("k_proj", key_width, true);
    add_part("v_proj", key_width, false);
    add_query_key_norms(theirs, ours, query_width, key_width);
  }

  /// Where heads of so many columns there have each of ours: those that turn come first here. There
  /// `before` others stand before them, and the two that turn together are neighbours unless
  /// `turns_halves_`.
  std::vector<std::int64_t> turned_rows(std::int64_t heads, std::int64_t of_head,
                                        std::int64_t before) const {
    const std::int64_t angles = rotary_angles(model_).columns,
                       turned = angles > 0 ? std::min(angles, of_head) : of_head;
    std::vector<std::int64_t> rows;
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t column = 0; column < of_head; ++column) {
        const std::int64_t half = turned / 2;
        std::int64_t there = column - turned;
        if (column < turned) {
          there = before + (turns_halves_ ? column : 2 * (column % half) + column / half);
        } else if (column >= turned + before) {
          there = column;
        }
        rows.push_back(head * of_head + there);
      }
    }
    return rows;
  }

  /// Latent attention as DeepSeek names it. Its keys' compressed rows and the columns that turn are
  /// one product there.
  void add_latents(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, of_head = head_width(model_),
                       turned = rotary_angles(model_).columns, unturned = of_head - turned,
                       queries = of_head * model_.heads;
    const LatentAttention latent = latent_attention(model_);
    std::string name = "q_proj.weight";
    std::int64_t inputs = width;
    if (latent.query_rank > 0) {
      name = "q_b_proj.weight";
      inputs = latent.query_rank;
      add({theirs + "q_a_proj.weight", {inputs, width}, ours + "query_down.weight", true});
      if (attention_biases(model_).qkv) {
        add({theirs + "q_a_proj.bias", {inputs}, ours + "query_down.bias"});
      }
      add({theirs + "q_a_layernorm.weight", {inputs}, ours + "query_down_norm.scale"});
    }
    add({.theirs = theirs + name,
         .shape = {queries, inputs},
         .ours = ours + "query_up.weight",
         .transposed = true,
         .part = {.rows = queries,
                  .columns = inputs,
                  .row_order = turned_rows(model_.heads, of_head, unturned)}});
    const auto add_both = [&](const std::string& part, std::vector<std::int64_t> shape,
                              std::int64_t columns) {
      add({.theirs = theirs + "kv_a_proj_with_mqa." + part,
           .shape = shape,
           .ours = ours + "latent_down." + part,
           .transposed = true,
           .part = {.rows = latent.rank, .columns = columns}});
      add({.theirs = theirs + "kv_a_proj_with_mqa." + part,
           .shape = std::move(shape),
           .ours = ours + "shared_key." + part,
           .transposed = true,
           .part = {.first_row = latent.rank,
                    .rows = turned,
                    .columns = columns,
                    .row_order = turned_rows(1, turned, 0)}});
    };
    add_both("weight", {latent.rank + turned, width}, width);
    if (attention_biases(model_).qkv) add_both("bias", {latent.rank + turned}, 1);
    add({theirs + "kv_a_layernorm.weight", {latent.rank}, ours + "latent_down_norm.scale"});
    add({theirs + "kv_b_proj.weight",
         {(unturned + value_width(model_)) * key_value_heads(model_), latent.rank},
         ours + "latent_up.weight",
         true});
  }

  void add_query_key_norms(const std::string& theirs, const std::string& ours,
                           std::int64_t query_width, std::int64_t key_width) {
    if (model_.query_key_norm == QueryKeyNorms::none) return;
    const bool by_head = model_.query_key_norm == QueryKeyNorms::head;
    const std::int64_t of_head = head_width(model_);
    const auto [query, key] = names_.query_key_norms;
    add({fmt::format("{}{}.weight", theirs, query),
         {by_head ? of_head : query_width},
         ours + "query_norm.scale"});
    add({fmt::format("{}{}.weight", theirs, key),
         {by_head ? of_head : key_width},
         ours + "key_norm.scale"});
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

  void add_mixture(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, experts = model_.experts;
    const std::string router = theirs + std::string(names_.router);
    add({router + "weight", {experts, width}, ours + "gate.weight", true});
    if (model_.gate_bias) add({router + "bias", {experts}, ours + "gate.bias"});
    if (names_.experts == ExpertTensors::interleaved) {
      add_interleaved_experts(theirs + "experts.", ours + "experts.");
    } else if (names_.experts == ExpertTensors::stacked) {
      add_stacked_experts(theirs, ours + "experts.");
    } else {
      for (int expert = 0; expert < model_.experts; ++expert) {
        add_network(fmt::format("{}experts.{}.", theirs, expert), ours + "experts.",
                    fmt::format(".{}", expert), expert_hidden(model_), names_.network);
      }
    }
    if (!names_.shared_gate.empty()) {
      add_shared_experts(theirs + std::string(names_.shared), ours,
                         model_.shared_expert_gate ? 1 : 2);
      add({theirs + std::string(names_.shared_gate),
           {1, width},
           model_.shared_expert_gate ? ours + "shared_gate.weight" : "",
           true});
    } else if (!names_.shared.empty()) {
      add_shared_experts(theirs + std::string(names_.shared), ours, 1);
    }
    if (!names_.router_bias.empty()) {
      std::vector<std::int64_t> shape{experts};
      if (names_.router_bias_is_row) shape.insert(shape.begin(), 1);
      add({theirs + std::string(names_.router_bias), shape, ours + "gate.expert_bias"});
    }
  }

  /// Each expert's part of tensors that have all of them; columns of gate and up take turns.
  void add_interleaved_experts(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, hidden = expert_hidden(model_),
                       experts = model_.experts;
    const auto add_all = [&](const std::string& name, const std::vector<std::int64_t>& shape,
                             std::int64_t rows, std::int64_t columns,
                             const std::vector<std::string>& parts) {
      const auto step = static_cast<std::int64_t>(parts.size());
      for (std::int64_t expert = 0; expert < experts; ++expert) {
        for (std::int64_t part = 0; part < step; ++part) {
          add({.theirs = theirs + name,
               .shape = shape,
               .ours = fmt::format("{}{}.{}", ours, parts[static_cast<std::size_t>(part)], expert),
               .part = {.first_row = expert * rows,
                        .rows = rows,
                        .columns = columns,
                        .first_column = part,
                        .column_step = step}});
        }
      }
    };
    add_all("gate_up_proj", {experts, width, 2 * hidden}, width, hidden,
            {"gate.weight", "up.weight"});
    add_all("gate_up_proj_bias", {experts, 2 * hidden}, 1, hidden, {"gate.bias", "up.bias"});
    add_all("down_proj", {experts, hidden, width}, hidden, width, {"down.weight"});
    add_all("down_proj_bias", {experts, width}, 1, width, {"down.bias"});
  }

  /// Each expert's rows of tensors that have all of them.
  void add_stacked_experts(const std::string& theirs, const std::string& ours) {
    const std::int64_t width = model_.d_model, hidden = expert_hidden(model_),
                       experts = model_.experts;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      for (const auto& [part, half] : {std::pair{"gate", 0}, std::pair{"up", 1}}) {
        add({.theirs = theirs + "input_linear.weight",
             .shape = {experts, 2 * hidden, width},
             .ours = fmt::format("{}{}.weight.{}", ours, part, expert),
             .transposed = true,
             .part = {
                 .first_row = (2 * expert + half) * hidden, .rows = hidden, .columns = width}});
      }
    }
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      add({.theirs = theirs + "output_linear.weight",
           .shape = {experts, width, hidden},
           .ours = fmt::format("{}down.weight.{}", ours, expert),
           .transposed = true,
           .part = {.first_row = expert * width, .rows = width, .columns = hidden}});
    }
  }

  void add_shared_experts(const std::string& theirs, const std::string& ours, double factor) {
    const std::int64_t width = model_.d_model;
    if (model_.shared_experts > 0) {
      add_network(theirs, ours + "shared.", "", model_.shared_experts * expert_hidden(model_),
                  kUsualNames, factor);
      return;
    }
    for (std::size_t i = 0; i < kUsualNames.size(); ++i) {
      const bool down = i + 1 == kUsualNames.size();
      add({fmt::format("{}{}.weight", theirs, kUsualNames[i]),
           {down ? width : 0, down ? 0 : width},
           ""});
    }
  }

  const Model& model_;
  const TensorNames& names_;
  bool turns_halves_;
  Counterparts list_;
};

}  // namespace

TheirPart Counterpart::region() const {
  if (part.rows > 0) return part;
  TheirPart whole;
  whole.rows = shape.size() > 1 ? shape.front() : 1;
  whole.columns = shape.back();
  return whole;
}

Counterparts counterparts(const Model& model, const PublishedClass& of, bool turns_halves) {
  if (of.tensors == nullptr) {
    throw Refusal(fmt::format("class {}", of.name),
                  "its tensors are not read or written here, its config.json alone is",
                  "moe-train import CONFIG.json -o MODEL.toml");
  }
  return List(model, *of.tensors, turns_halves).made();
}

}  // namespace moe
