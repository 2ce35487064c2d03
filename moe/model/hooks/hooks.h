#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "moe/model/layer_builder.h"

namespace moe {

/// The places in a MoE layer where a hook can run, see layers/mixture_of_experts.h [FSMoE 3.1 and
/// its BeforeMoeStartHook ... BeforeMoeEndHook]. A hook gets the rows at that place, with columns
/// of the model width.
enum class HookPlace : std::uint8_t {
  before_moe_start,  ///< the layer's input [T,M], of gate and order
  before_dispatch,   ///< sent rows [S,M]
  after_dispatch,    ///< received rows [R,M], before ranks that share experts gather them
  before_combine,    ///< the experts' results for this rank's received rows [R,M]
  after_combine,     ///< returned rows [S,M]
  before_moe_end,    ///< the layer's output [T,M]
};
/// Their names in a model file, in the table [moe.hooks].
inline constexpr std::array<std::string_view, 6> kHookPlaces{"before_moe_start", "before_dispatch",
                                                             "after_dispatch",   "before_combine",
                                                             "after_combine",    "before_moe_end"};

/// Throws InputError with the names of all places.
HookPlace hook_place_named(std::string_view name);

/// True where the rows at a place are copies of tokens.
constexpr bool routed_rows_at(HookPlace place) {
  return place != HookPlace::before_moe_start && place != HookPlace::before_moe_end;
}

/// Rows that a hook can work on.
enum class HookRows : std::uint8_t {
  any,
  tokens,  ///< only rows whose place in the batch is known, which excludes routed rows
};

/// All hooks, one line each: NAME, rows, and a description. hooks/NAME.cpp defines Layer
/// NAME_hook(LayerBuilder&, HookPlace, TensorId x). Its output has the shape of x; the gradient
/// that its backward returns has the shape of the gradient that it gets. Its ops on routed rows are
/// cut into chunks with the others where they can be (Cut::rows).
#define MOELAB_HOOKS(HOOK)                                                               \
  HOOK(jitter, tokens, "multiplies by 1 + 0.01 u, u random in [-1, 1): changes results") \
  HOOK(round_bf16, any, "rounds values and gradients to bfloat16: changes results")

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

/// Throws InputError with the names of all hooks.
const Hook& hook_named(std::string_view name);

/// The output of the hook for x. Throws std::invalid_argument where the output, or in backward the
/// gradient, has another shape than the input.
Layer hooked(LayerBuilder& build, HookPlace place, const Hook& hook, TensorId x);
/// The output of the model's hook at that place; x itself where there is none.
Layer hooked(LayerBuilder& build, HookPlace place, TensorId x);

}  // namespace moe
