#pragma once

#include <string_view>
#include <vector>

#include "moe/model/model.h"

namespace moe {

/// Which linear layers of attention have biases: the key "attention_biases".
struct AttentionBiases {
  bool qkv = true;     ///< those of queries, keys and values
  bool output = true;  ///< the one behind attention
};

/// Those in force: what the key says, else what Model::biases says.
AttentionBiases attention_biases(const Model& model);

/// The values of the key: "all", "qkv", "none".
std::vector<std::string_view> names_of_attention_biases();

}  // namespace moe
