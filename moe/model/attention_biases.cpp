#include "moe/model/attention_biases.h"

#include <string>

namespace moe {

AttentionBiases attention_biases(const Model& model) {
  const auto found = model.own.find("attention_biases");
  if (found == model.own.end()) return {model.biases, model.biases};
  const auto& name = std::get<std::string>(found->second);
  return {name != "none", name == "all"};
}

std::vector<std::string_view> names_of_attention_biases() { return {"all", "qkv", "none"}; }

}  // namespace moe
