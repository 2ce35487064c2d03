#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "moe/model/layer_builder.h"

namespace moe {

/// Slots that hold mixtures of all tokens of a capacity group instead of a token each: masks as ops/einsum.h
/// has them, with `groups` groups of this rank and `slots` slots of an expert in each.
struct MixedSlots {
  TensorId dispatch = -1, combine = -1;  ///< [S,n]
  int groups = 1;
  std::int64_t slots = 1;
  /// d_dispatch[S,n], d_combine[S,n] -> gradient of the gate's input
  std::function<TensorId(TensorId d_dispatch, TensorId d_combine)> backward;
};

/// What a gate leaves for the layer: T tokens, E experts, k copies of a token at most.
struct GateOutput {
  TensorId expert = -1;   ///< i32[T,k]
  TensorId weight = -1;   ///< [T,k]
  TensorId slot = -1;     ///< i32[T,k], -1 where dropped
  TensorId offsets = -1;  ///< i32[1,E+1], of the copies kept
  Backward
      backward;  ///< d_weight[T,k] -> gradient of the gate's input; empty where it learns nothing
  /// Instead of all these, from gates whose slots mix tokens.
  std::optional<MixedSlots> mixed{};
};

/// What decides about a token's experts.
enum class Chooser : std::uint8_t {
  token,   ///< the token alone, as far as capacity goes
  group,   ///< all tokens of its capacity group; it gets any number of experts
  nobody,  ///< every slot mixes all tokens of a group: GateOutput::mixed
};
/// True for gates that need a whole capacity group, and so cannot be cut along the batch themselves. They fill every
/// expert's capacity in every group.
constexpr bool takes_whole_groups(Chooser chooser) { return chooser != Chooser::token; }

/// What a gate says of itself beside how it is built.
struct GateFacts {
  /// By learned logits, token by token: has a router z-loss where the model weighs it, can drop by probability.
  bool scores_tokens = true;
  bool balances = true;        ///< has a load-balancing loss
  std::optional<Drop> drop{};  ///< the one way in which it drops, whatever the model says
  Chooser chooser = Chooser::token;
};
inline constexpr GateFacts kLearned{};
inline constexpr GateFacts kBatchPrioritized{.drop = Drop::probability};
inline constexpr GateFacts kUnbalanced{.balances = false};
inline constexpr GateFacts kUnlearned{.scores_tokens = false, .balances = false};
inline constexpr GateFacts kExpertChoice{
    .scores_tokens = false, .balances = false, .chooser = Chooser::group};
inline constexpr GateFacts kSoftMoe{
    .scores_tokens = false, .balances = false, .chooser = Chooser::nobody};

/// Every gate, a line each: NAME, its facts, what it is. A model file calls it NAME; gates/NAME.cpp defines
/// GateOutput NAME_gate(LayerBuilder&, TensorId x), x[T,M].
#define MOELAB_GATES(GATE)                                                                       \
  GATE(softmax, kLearned,                                                                        \
       "softmax over the experts, the k largest (Switch; GShard without noise)")                 \
  GATE(gshard, kLearned, "softmax over noisy logits, the k largest")                             \
  GATE(sigmoid, kLearned, "each expert's score for itself, the k largest (BASE, StableMoE)")     \
  GATE(x_moe, kLearned, "softmax over the cosines between token and experts in few dimensions")  \
  GATE(batch_prioritized, kBatchPrioritized, "softmax, tokens of high probability served first") \
  GATE(bias_adjusted, kUnbalanced, "sigmoid with a bias that evens loads out (DeepSeek-V3)")     \
  GATE(hash, kUnlearned, "k experts by the token's id (Hash Layers)")                            \
  GATE(random, kUnlearned, "k experts by chance")                                                \
  GATE(expert_choice, kExpertChoice, "every expert takes its tokens of largest score")           \
  GATE(soft_moe, kSoftMoe, "slots mix all tokens, tokens mix what all slots return")

#define MOELAB_DECLARE_GATE(name, facts, description) \
  GateOutput name##_gate(LayerBuilder&, TensorId x);
MOELAB_GATES(MOELAB_DECLARE_GATE)
#undef MOELAB_DECLARE_GATE

struct Gate {
  std::string_view name;
  std::string_view description;
  GateFacts facts;
  GateOutput (*build)(LayerBuilder&, TensorId x);
};

const std::vector<Gate>& gates();

/// Throws InputError naming the gates there are.
const Gate& gate_named(std::string_view name);

}  // namespace moe
