#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "moe/model/layer_builder.h"
#include "moe/model/model_key.h"

namespace moe {

/// Slots that hold mixtures of all tokens of a capacity group instead of a token each: masks as
/// ops/einsum.h has them, with `groups` groups of this rank and `slots` slots of an expert in each.
struct MixedSlots {
  TensorId dispatch = -1, combine = -1;  ///< [S,n]
  int groups = 1;
  std::int64_t slots = 1;
  /// d_dispatch[S,n], d_combine[S,n] -> gradient of the gate's input
  std::function<TensorId(TensorId d_dispatch, TensorId d_combine)> backward;
};

/// The result of a gate: T tokens, E experts, at most k copies of a token.
struct GateOutput {
  TensorId expert = -1;   ///< i32[T,k]
  TensorId weight = -1;   ///< [T,k]
  TensorId slot = -1;     ///< i32[T,k], -1 where dropped
  TensorId offsets = -1;  ///< i32[1,E+1], of the copies kept; padded_offsets where rows are padded
  Backward
      backward;  ///< d_weight[T,k] -> gradient of the gate's input; empty where it learns nothing
  /// Gates whose slots mix tokens have this instead of all the others.
  std::optional<MixedSlots> mixed{};
};

/// Who decides about a token's experts.
enum class Chooser : std::uint8_t {
  token,   ///< the token alone, as far as capacity goes
  group,   ///< all tokens of its capacity group; it gets any number of experts
  nobody,  ///< every slot mixes all tokens of a group: GateOutput::mixed
};
/// True for gates that need a whole capacity group, and so cannot be cut along the batch. They fill
/// every expert's capacity in every group.
constexpr bool takes_whole_groups(Chooser chooser) { return chooser != Chooser::token; }

/// The facts that a gate states about itself.
struct GateFacts {
  /// It scores tokens by learned logits: it has a router z-loss if the model does, and can drop by
  /// probability.
  bool scores_tokens = true;
  bool balances = true;        ///< has a load-balancing loss
  std::optional<Drop> drop{};  ///< the one way in which it drops, whatever the model says
  Chooser chooser = Chooser::token;
  /// A token's choices depend on the other tokens of its capacity group, dropless too.
  bool ranks_groups = false;
  bool is_drawn_once = false;  ///< the seed decides what it computes, and is part of the function
};

/// Elements of a gate, roughly: no biases.
struct GateSize {
  double parameters = 0;
  double activations_per_token = 0;
};

/// All that there is of a gate. gates/NAME.cpp defines it whole, and is its only file.
struct Gate {
  std::string_view name{};  ///< the name in model files; gates() fills it in
  std::string_view description;
  GateFacts facts{};
  /// Keys of [moe] that no other gate reads.
  std::span<const ModelKey> keys{};
  /// x[T,M] -> all that the layer needs to send every token to its experts.
  GateOutput (*build)(LayerBuilder&, TensorId x) = nullptr;
  /// Where it is more than logits x W, W[M,E].
  GateSize (*size)(const Model&) = nullptr;
};

/// All of them, in the order of gates.cpp, where each has a line.
const std::vector<Gate>& gates();

/// Throws InputError naming the gates there are.
const Gate& gate_named(std::string_view name);

}  // namespace moe
