#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "moe/model/gates/gates.h"

namespace moe {

struct OrderGradients {
  TensorId input = -1;     ///< d_x[T,M]
  TensorId dispatch = -1;  ///< gradient of MixedSlots::dispatch, where there is one
};
/// x[T,M] in the order of the experts (FSMoE's Order).
struct OrderedRows {
  TensorId sent = -1;                                       ///< [S,M]
  std::function<OrderGradients(TensorId d_sent)> backward;  ///< d_sent[S,M]
};

struct RestoreGradients {
  TensorId returned = -1;  ///< d_returned[S,M]
  TensorId weight =
      -1;  ///< the gradient of GateOutput::weight, where the gate learns, or of MixedSlots::combine
};
/// The weighted sum of returned rows, in the order of the tokens (FSMoE's I-Order).
struct RestoredTokens {
  TensorId output = -1;                                   ///< [T,M]
  std::function<RestoreGradients(TensorId dy)> backward;  ///< dy[T,M]
};

/// The contents with which an order can fill slots.
enum class Slots : std::uint8_t {
  copies,    ///< copies of single tokens
  mixtures,  ///< copies, or mixtures of all tokens of a group (GateOutput::mixed)
};

/// All orders, one line each: NAME, the contents of slots, and a description. A model file calls it
/// NAME. orders/NAME.cpp defines
///   OrderedRows NAME_order(LayerBuilder&, const GateOutput&, TensorId x)
///   RestoredTokens NAME_restore(LayerBuilder&, const GateOutput&, TensorId returned)
/// with x[T,M] and returned[S,M].
#define MOELAB_ORDERS(ORDER)                                                                    \
  ORDER(sparse, copies, "copies rows one by one and adds them up weighted (Tutel, MegaBlocks)") \
  ORDER(einsum, mixtures, "products with a mask of token x expert x slot (GShard)")

#define MOELAB_DECLARE_ORDER(name, slots, description)                    \
  OrderedRows name##_order(LayerBuilder&, const GateOutput&, TensorId x); \
  RestoredTokens name##_restore(LayerBuilder&, const GateOutput&, TensorId returned);
MOELAB_ORDERS(MOELAB_DECLARE_ORDER)
#undef MOELAB_DECLARE_ORDER

struct Order {
  std::string_view name;
  Slots slots;
  std::string_view description;
  OrderedRows (*order)(LayerBuilder&, const GateOutput&, TensorId x);
  RestoredTokens (*restore)(LayerBuilder&, const GateOutput&, TensorId returned);
};

const std::vector<Order>& orders();

/// Throws InputError with the names of all orders.
const Order& order_named(std::string_view name);

/// k of the gate's choice: the most copies of a token.
int copies_of_token(LayerBuilder& build, const GateOutput& gate);

/// Zeros in the sent rows without a copy, where rows are padded.
void clear_padding(LayerBuilder& build, const GateOutput& gate, TensorId sent);

}  // namespace moe
