#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace moe {

/// How a class stores its experts.
enum class ExpertTensors : std::uint8_t {
  each,         ///< `experts.E.NAME.weight` of [outputs, inputs]
  interleaved,  ///< `experts.gate_up_proj` of [experts, inputs, 2 outputs], gate and up in turns
  stacked,      ///< `input_linear.weight` of [experts, 2 outputs, inputs], gate before up
};

/// The names of a class's tensors where classes differ, after "model.layers.N.".
struct TensorNames {
  /// The norms of attention and of the network.
  std::array<std::string_view, 2> norms{"input_layernorm", "post_attention_layernorm"};
  std::array<std::string_view, 2> query_key_norms{"q_norm", "k_norm"};
  std::string_view sinks = "sinks";
  std::string_view mixture = "mlp.";
  std::string_view router = "gate.";
  std::array<std::string_view, 3> network{"gate_proj", "up_proj", "down_proj"};  ///< of an expert
  ExpertTensors experts = ExpertTensors::each;
  std::string_view shared{};        ///< of shared experts, in the mixture
  std::string_view shared_gate{};   ///< of their gate, in the mixture
  std::string_view router_bias{};   ///< what is added to scores to choose, in the mixture
  bool router_bias_is_row = false;  ///< it is a matrix of one row
  /// Columns of queries and keys that turn together are neighbours; here they are half of what
  /// turns apart.
  bool neighbours_turn = false;
  bool output_bias = false;  ///< whether attention's output has a bias, where queries have
};

}  // namespace moe
