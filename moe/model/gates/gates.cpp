#include "moe/model/gates/gates.h"

#include "moe/model/named.h"

namespace moe {

/// Every gate, a line each. gates/NAME.cpp defines Gate NAME_gate().
#define MOELAB_GATES(GATE) \
  GATE(softmax)            \
  GATE(gshard)             \
  GATE(sigmoid)            \
  GATE(x_moe)              \
  GATE(batch_prioritized)  \
  GATE(bias_adjusted)      \
  GATE(hash)               \
  GATE(random)             \
  GATE(expert_choice)      \
  GATE(soft_moe)           \
  GATE(sinkhorn)

#define MOELAB_DECLARE_GATE(name) Gate name##_gate();
MOELAB_GATES(MOELAB_DECLARE_GATE)
#undef MOELAB_DECLARE_GATE

const std::vector<Gate>& gates() {
  const auto named = [](std::string_view name, Gate gate) {
    gate.name = name;
    return gate;
  };
#define MOELAB_LIST_GATE(name) named(#name, name##_gate()),
  static const std::vector<Gate> all{MOELAB_GATES(MOELAB_LIST_GATE)};
#undef MOELAB_LIST_GATE
  return all;
}

const Gate& gate_named(std::string_view name) { return find_named(gates(), name, "gate"); }

}  // namespace moe
