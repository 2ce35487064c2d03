#pragma once

#include <array>

#include "moe/model/joined.h"
#include "moe/model/published/parts.h"

/// Keys that classes have in common, by the class's own values.
namespace moe {

struct CommonSizes {
  std::int64_t vocabulary, width, blocks, heads;
  Declared key_value_heads{}, head_width{};
  double norm_epsilon = 1e-6;
  bool tied_head = false;
};

constexpr std::array<ConfigKey, 4> widths_and_blocks(const CommonSizes& sizes) {
  return {{{"vocab_size", "vocabulary", sizes.vocabulary},
           {"hidden_size", "d_model", sizes.width},
           {"num_hidden_layers", "blocks", sizes.blocks},
           {"num_attention_heads", "heads", sizes.heads}}};
}
constexpr std::array<ConfigKey, 2> norms_and_head(const CommonSizes& sizes) {
  return {{{"rms_norm_eps", "norm_epsilon", sizes.norm_epsilon},
           {"tie_word_embeddings", "head", sizes.tied_head, {"untied", "tied"}}}};
}
constexpr auto common_sizes(const CommonSizes& sizes) {
  return joined(
      widths_and_blocks(sizes),
      std::array<ConfigKey, 2>{{{"num_key_value_heads", "key_value_heads", sizes.key_value_heads},
                                {"head_dim", "head_width", sizes.head_width}}},
      norms_and_head(sizes));
}

}  // namespace moe
