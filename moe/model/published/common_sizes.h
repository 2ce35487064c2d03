#pragma once

#include <array>
#include <cstddef>

#include "moe/model/published/parts.h"

/// Keys that classes have in common, by the class's own values.
namespace moe {

struct CommonSizes {
  std::int64_t vocabulary, width, blocks, heads;
  Declared key_value_heads{}, head_width{};
  double norm_epsilon = 1e-6;
  bool tied_head = false;
};

constexpr std::array<ConfigKey, 8> common_sizes(const CommonSizes& sizes) {
  return {{{"vocab_size", "vocabulary", sizes.vocabulary},
           {"hidden_size", "d_model", sizes.width},
           {"num_hidden_layers", "blocks", sizes.blocks},
           {"num_attention_heads", "heads", sizes.heads},
           {"num_key_value_heads", "key_value_heads", sizes.key_value_heads},
           {"head_dim", "head_width", sizes.head_width},
           {"rms_norm_eps", "norm_epsilon", sizes.norm_epsilon},
           {"tie_word_embeddings", "head", sizes.tied_head, {"untied", "tied"}}}};
}

template <std::size_t kFirst, std::size_t kSecond>
constexpr std::array<ConfigKey, kFirst + kSecond> joined(
    const std::array<ConfigKey, kFirst>& first, const std::array<ConfigKey, kSecond>& second) {
  std::array<ConfigKey, kFirst + kSecond> all{};
  for (std::size_t i = 0; i < kFirst; ++i) all[i] = first[i];
  for (std::size_t i = 0; i < kSecond; ++i) all[kFirst + i] = second[i];
  return all;
}

}  // namespace moe
