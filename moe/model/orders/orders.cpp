#include "moe/model/orders/orders.h"

#include "moe/model/named.h"

namespace moe {

const std::vector<Order>& orders() {
#define MOELAB_LIST_ORDER(name, slots, description) \
  {#name, Slots::slots, description, name##_order, name##_restore},
  static const std::vector<Order> all{MOELAB_ORDERS(MOELAB_LIST_ORDER)};
#undef MOELAB_LIST_ORDER
  return all;
}

const Order& order_named(std::string_view name) { return find_named(orders(), name, "order"); }

int copies_of_token(LayerBuilder& build, const GateOutput& gate) {
  return static_cast<int>(build.program().tensors[gate.expert].columns);
}

void clear_padding(LayerBuilder& build, const GateOutput& gate, TensorId sent) {
  if (!build.pads_rows()) return;
  build.op(ClearPadding{}, "clear padding", {gate.offsets, sent}, {sent});
}

}  // namespace moe
