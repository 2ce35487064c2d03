#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "moe/model/layer_builder.h"

namespace moe {

/// Where a mixture of experts can be added to, see layers/mixture_of_experts.h [FSMoE 3.1 and its BeforeMoeStartHook
/// ... BeforeMoeEndHook]. A hook gets what is passed on there, the model width in columns.
enum class HookPlace : std::uint8_t {
  before_moe_start,  ///< the layer's input [T,M], of gate and order
  before_dispatch,   ///< sent rows [S,M]
  after_dispatch,    ///< received rows [R,M], before ranks that share experts gather them
  before_combine,    ///< what this rank's received rows became [R,M]
  after_combine,     ///< returned rows [S,M]
  before_moe_end,    ///< the layer's output [T,M]
};
/// What a model file calls them, in the table [moe.hooks].
inline constexpr std::array<std::string_view, 6> kHookPlaces{"before_moe_start", "before_dispatch",
                                                             "after_dispatch",   "before_combine",
                                                             "after_combine",    "before_moe_end"};

/// Throws InputError naming the places there are.
HookPlace hook_place_named(std::string_view name);

/// True where rows of a hook are copies of tokens.
constexpr bool routed_rows_at(HookPlace place) {
  return place != HookPlace::before_moe_start && place != HookPlace::before_moe_end;
}

/// Rows that a hook can work on.
enum class HookRows : std::uint8_t {
  any,
  tokens,  ///< those whose place in the batch is known: not routed ones
};

/// Every hook, a line each: NAME, rows, what it does. hooks/NAME.cpp defines Layer NAME_hook(LayerBuilder&,
/// HookPlace, TensorId x): its output has the shape of x, its backward the shape of what that is given. What it
/// does to routed rows goes along with them in chunks where its ops can be cut (Cut::rows).
#define MOELAB_HOOKS(HOOK)                                                                        \
  HOOK(jitter, tokens, "multiplies by 1 + 0.01 u, u random in [-1, 1): changes what is computed") \
  HOOK(round_bf16, any, "rounds values and gradients to bfloat16: changes what is computed")

#define MOELAB_DECLARE_HOOK(name, rows, description) \
  Layer name##_hook(LayerBuilder&, HookPlace, TensorId x);
MOELAB_HOOKS(MOELAB_DECLARE_HOOK)
#undef MOELAB_DECLARE_HOOK

struct Hook {
  std::string_view name;
  HookRows rows;
  std::string_view description;
  Layer (*build)(LayerBuilder&, HookPlace, TensorId x);
};

const std::vector<Hook>& hooks();

/// Throws InputError naming the hooks there are.
const Hook& hook_named(std::string_view name);

/// x as the hook leaves it. Throws std::invalid_argument where its output, or in backward its gradient, has
/// another shape than what went in.
Layer hooked(LayerBuilder& build, HookPlace place, const Hook& hook, TensorId x);
/// With the model's hook of that place; x itself where there is none.
Layer hooked(LayerBuilder& build, HookPlace place, TensorId x);

}  // namespace moe
